"""Finding parsers: installed ones by entry point, others in files. Only the parser that is asked for is imported."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import importlib_metadata
import pluggy
from msgspec import Struct

from toolglot import hookspecs
from toolglot.errors import DuplicateParserError, PluginFileError, PluginLoadError, UnknownParserError

GROUP = "toolglot.parsers.v1"
"""The entry-point group; the number is the version of the plugin API."""

T = TypeVar("T")


class Installed(Struct, frozen=True):
    """A parser that can be asked for. ``conflict`` lists the claimants when there are several: then it cannot."""

    name: str
    distribution: str
    version: str
    conflict: tuple[str, ...] = ()


class _File(Struct, frozen=True):
    path: str
    plugin: Any


_files: dict[str, _File] = {}
_loading: list[dict[str, Any]] = []


def parser_names() -> list[str]:
    """The names of every parser that is installed or was loaded from a file, sorted. Imports none of them."""
    return [parser.name for parser in installed()]


def installed() -> list[Installed]:
    """Every parser with where it comes from, sorted by name; a plugin file counts as a distribution. Imports none of
    them.
    """
    found = [_described(name, claims) for name, claims in _claims().items() if name not in _files]
    found += [Installed(name, file.path, "file") for name, file in _files.items()]
    return sorted(found, key=lambda one: one.name)


def load(name: str) -> tuple[Any, Installed]:
    """Import the parser ``name``: its plugin object, and where it comes from.

    Raises:
        UnknownParserError: there is none of this name.
        DuplicateParserError: several distributions claim the name.
        PluginLoadError: it does not import, or is no plugin.
    """
    if name in _files:
        return _files[name].plugin, Installed(name, _files[name].path, "file")
    claims = _claims().get(name, [])
    if not claims:
        raise UnknownParserError(name, parser_names())
    known = _described(name, claims)
    if known.conflict:
        raise DuplicateParserError(name, known.conflict)
    try:
        plugin = claims[0].load()
    except (Exception, SystemExit) as error:  # a plugin's import can fail in any way; it must only cost itself
        raise PluginLoadError(name, known.distribution, known.version, _reason(error)) from error
    problem = _problem(plugin)
    if problem:
        raise PluginLoadError(name, known.distribution, known.version, problem)
    return plugin, known


def register_parser(name: str, plugin: Any = None) -> Any:
    """In a plugin file: register ``plugin`` under ``name``, for ``--tool-call-parser``.

    Without ``plugin`` it decorates a class, whose instance (made without arguments) is the plugin.

    Raises:
        RuntimeError: not in a file that ``--tool-parser-plugin`` loads; a package declares an entry point instead.
    """
    if plugin is None:
        return _class_decorator(name)
    if not _loading:
        raise RuntimeError(
            f"register_parser({name!r}) outside a plugin file; a package declares an entry point in {GROUP!r}"
        )
    _loading[-1][name] = plugin
    return plugin


def _class_decorator(name: str) -> Callable[[type[T]], type[T]]:
    def decorate(cls: type[T]) -> type[T]:
        register_parser(name, cls())
        return cls

    return decorate


def load_file(path: str | Path, *, replace: bool = False) -> list[str]:
    """Run a plugin file, and return the names that it registered; they can be loaded like installed ones from now on.
    The file registers plugins of toolglot's, or tool parsers as vLLM's plugin files do.

    Raises:
        PluginFileError: it does not exist, does not run, registers nothing, or something that is no plugin.
        DuplicateParserError: it registers a name that exists, and ``replace`` is not set.
    """
    where = Path(path)
    if not where.is_file():
        raise PluginFileError(str(path), "there is no such file")
    with _collecting() as found:
        _run(where)
    if not found:
        raise PluginFileError(str(path), "it registers no parser; call toolglot.register_parser(name, plugin)")
    taken = {parser.name: parser for parser in installed()}
    for name, plugin in found.items():
        problem = _problem(plugin)
        if problem:
            raise PluginFileError(str(path), f"parser {name!r}: {problem}")
        if name in taken and not replace:
            raise DuplicateParserError(name, (str(path), taken[name].distribution))
    _files.update({name: _File(str(path), plugin) for name, plugin in found.items()})
    return sorted(found)


@contextmanager
def _collecting() -> Iterator[dict[str, Any]]:
    _loading.append({})
    try:
        yield _loading[-1]
    finally:
        _loading.pop()


def _run(path: Path) -> None:
    from toolglot.vllm_plugins import Run, VllmParser  # it needs all of the parsing core, which needs this module

    name = f"toolglot_plugin_file_{path.stem}_{abs(hash(str(path.resolve()))):x}"
    spec = importlib.util.spec_from_file_location(name, path, loader=None)
    if spec is None or spec.loader is None:
        raise PluginFileError(str(path), "it is no Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    run = Run()
    try:
        with run.names():
            spec.loader.exec_module(module)
        found = run.parsers(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PluginFileError(str(path), f"it does not import: {_reason(error)}{run.explain(error)}") from error
    for parser, cls in found.items():
        register_parser(parser, VllmParser(cls, str(path)))


def _claims() -> dict[str, list[Any]]:
    """The entry points of each name, one a distribution."""
    claims: dict[str, dict[str, Any]] = {}
    for entry in importlib_metadata.entry_points(group=GROUP):
        claims.setdefault(entry.name, {}).setdefault(_distribution(entry), entry)
    return {name: list(entries.values()) for name, entries in claims.items()}


def _described(name: str, claims: list[Any]) -> Installed:
    labels = tuple(f"{_distribution(entry)} {_version(entry)}" for entry in claims)
    return Installed(name, _distribution(claims[0]), _version(claims[0]), labels if len(claims) > 1 else ())


def _distribution(entry: Any) -> str:
    return str(entry.dist.name) if entry.dist else "an unknown distribution"


def _version(entry: Any) -> str:
    return str(entry.dist.version) if entry.dist else "?"


def _reason(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} in line {error.lineno} of {error.filename}"
    return f"{type(error).__name__}: {error}"


def _problem(plugin: Any) -> str | None:
    """Why an object is no parser plugin, if it is none."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin)
        manager.check_pending()
    except (pluggy.PluginValidationError, TypeError) as error:
        return str(error)
    reads = (manager.hook.extract_tool_calls, manager.hook.extract_tool_calls_streaming)
    if not any(hook.get_hookimpls() for hook in reads):
        return f"{plugin!r} implements neither extract_tool_calls nor extract_tool_calls_streaming"
    return None
