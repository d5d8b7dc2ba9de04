"""What ``toolglot check TARGET`` is to test: an installed parser, the folder of a package, or a plugin file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

import importlib_metadata
from msgspec.structs import replace

from toolglot import plugins
from toolglot.cli.arguments import UsageError, did_you_mean
from toolglot.cli.laws import Task

_ENTRIES = """\
from importlib_metadata import EntryPoint
from toolglot import register_parser

for name, value in {entries!r}.items():
    register_parser(name, EntryPoint(name, value, {group!r}).load())
"""


def task_of(target: str, cases: str | None, task: Task) -> Task:
    """``task`` with what ``target`` says. Raises UsageError when it is nothing that can be checked."""
    if cases is not None:
        task = replace(task, cases={"": str(_case_folder(Path(cases)))})
    where = Path(target)
    if target in plugins.parser_names():
        folder = _source_folder(target) if cases is None else None
        return replace(task, groups=((target,),)) if folder is None else _only(target, _package(folder, task))
    if where.is_dir():
        if cases is not None:
            raise UsageError(
                f"--cases is for an installed parser or a plugin file; {target} has its own in tests/cases"
            )
        return _package(where.resolve(), task)
    if where.suffix == ".py":
        return replace(task, files=(target,))
    hint = did_you_mean(target, plugins.parser_names()) or f"installed: {', '.join(plugins.parser_names())}"
    raise UsageError(f"{target!r} is no installed parser, package folder or plugin file (.py); {hint}")


def _source_folder(name: str) -> Path | None:
    """Where the package of an installed parser is developed, if it is installed in editable mode (PEP 610)."""
    (found,) = (one for one in plugins.installed() if one.name == name)
    try:
        origin = importlib_metadata.distribution(found.distribution).read_text("direct_url.json")
    except importlib_metadata.PackageNotFoundError:  # a plugin file's path stands for its distribution
        return None
    settings: Any = json.loads(origin or "{}")
    if not settings.get("dir_info", {}).get("editable"):
        return None
    folder = Path(url2pathname(urlparse(settings["url"]).path))
    return folder if (folder / "tests").is_dir() else None


def _only(name: str, task: Task) -> Task:
    """The task of a package with one of its parsers."""
    return replace(task, groups=tuple(group for group in task.groups if name in group))


def _case_folder(folder: Path) -> Path:
    if not any(folder.glob("*.jsonl")):
        raise UsageError(f"--cases {folder}: no *.jsonl file there")
    return folder.resolve()


def _package(folder: Path, task: Task) -> Task:
    """The parsers that a package declares, tested by its own suites where it has some.

    The package need not be installed: its entry points become a plugin file.
    """
    entries = _entry_points(folder)
    groups: dict[str, list[str]] = {}
    for name, value in entries.items():
        groups.setdefault(value, []).append(name)
    loader = Path(task.folder) / "entry_points.py"
    loader.write_text(_ENTRIES.format(entries=entries, group=plugins.GROUP), "utf-8")
    tests = sorted((folder / "tests").rglob("test_*.py"))
    return replace(
        task,
        groups=tuple(map(tuple, groups.values())),
        files=(str(loader),),
        path=(str(folder / "src" if (folder / "src").is_dir() else folder),),
        modules=tuple(str(path) for path in tests if "FormatSuite" in path.read_text("utf-8")),
        cases={name: str(found) for name in entries if (found := _cases_of(folder, name))},
    )


def _entry_points(folder: Path) -> Mapping[str, str]:
    path = folder / "pyproject.toml"
    try:
        settings: Any = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; a package folder has a pyproject.toml") from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    entries = settings.get("project", {}).get("entry-points", {}).get(plugins.GROUP, {})
    if not entries:
        raise UsageError(f'{path}: declares no parser in [project.entry-points."{plugins.GROUP}"]')
    return dict(entries)


def _cases_of(folder: Path, name: str) -> Path | None:
    """The folder with the cases of one parser: its own, or the one that all share."""
    places = (folder / "tests" / "cases" / name, folder / "tests" / "cases")
    return next((place for place in places if any(place.glob("*.jsonl"))), None)
