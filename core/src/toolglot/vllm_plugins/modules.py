"""The modules of vLLM that plugin files import. Without vLLM they are there while such a file runs only."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from toolglot.vllm_plugins import helpers, protocol, tool_parser

_MANAGERS: Final = ("vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers")
"""Where the versions of vLLM have the class with which parsers are registered."""

_LEAVES: Final = (
    *_MANAGERS,
    "vllm.entrypoints.chat_utils",
    "vllm.entrypoints.generate.base.protocol",
    "vllm.entrypoints.openai.chat_completion.protocol",
    "vllm.entrypoints.openai.engine.protocol",
    "vllm.entrypoints.openai.protocol",
    "vllm.entrypoints.openai.responses.protocol",
    "vllm.entrypoints.openai.tool_parsers.abstract_tool_parser",
    "vllm.entrypoints.openai.tool_parsers.utils",
    "vllm.envs",
    "vllm.logger",
    "vllm.renderers.chat_utils",
    "vllm.sampling_params",
    "vllm.tokenizers",
    "vllm.tool_parsers.abstract_tool_parser",
    "vllm.tool_parsers.utils",
    "vllm.transformers_utils.tokenizer",
    "vllm.transformers_utils.tokenizers",
    "vllm.utils",
    "vllm.utils.collection_utils",
    "vllm.utils.mistral",
)
"""The modules in which versions of vLLM have, or had, the names."""

_lock = threading.Lock()
_users = 0


def _made() -> dict[str, ModuleType]:
    """Every module with every name: from version to version the names moved, so files differ in where they look."""
    sources = (helpers, protocol, tool_parser)
    names = {name: getattr(source, name) for source in sources for name in source.__all__}
    modules: dict[str, ModuleType] = {}
    for path in sorted({leaf.rsplit(".", depth)[0] for leaf in _LEAVES for depth in range(leaf.count(".") + 1)}):
        module = modules[path] = ModuleType(path, "toolglot's stand-in for this module of vLLM")
        module.__spec__ = ModuleSpec(path, None, is_package=True)
        module.__path__ = []
        vars(module).update(names)
        parent, _, child = path.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
    return modules


_modules: Final = _made()


@contextmanager
def standing_in() -> Iterator[None]:
    """For as long as this lasts, ``import vllm`` finds toolglot's names, in every thread. It may be nested."""
    global _users  # the modules are the process's
    with _lock:
        _users += 1
        sys.modules.update(_modules)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                for path in _modules:
                    sys.modules.pop(path, None)


def installed() -> bool:
    """Whether there is a real vLLM."""
    if "vllm" in sys.modules:
        return sys.modules["vllm"] is not _modules["vllm"]
    return importlib.util.find_spec("vllm") is not None


class Run:
    """The run of one plugin file: inside :meth:`names` it finds vLLM's names; :meth:`parsers` is what came of it."""

    def __init__(self) -> None:
        self._real = installed()
        self._before = _registrations(self._real)

    def names(self) -> AbstractContextManager[None]:
        """What to run the file in."""
        return nullcontext() if self._real else standing_in()

    def parsers(self, module: ModuleType) -> dict[str, type[Any]]:
        """The tool parsers that the file registered with vLLM's manager, by name.

        Raises:
            ImportError, AttributeError: one was registered by a place where it is not.
        """
        with self.names():
            entries = {
                name: entry
                for name, entry in _registrations(self._real).items()
                if entry is not self._before.get(name) and not (self._real and _built_in(entry))
            }
            return {name: _class_of(entry, module) for name, entry in entries.items()}

    def explain(self, error: BaseException) -> str:
        """What to add to an error of the file: that a name of vLLM is not there, if that is what it is about."""
        if self._real or not isinstance(error, ImportError) or (error.name or "").partition(".")[0] != "vllm":
            return ""
        return "; toolglot has only the names of vLLM that a tool parser needs: install vllm, or do without this one"


def _registrations(real: bool) -> Mapping[str, Any]:
    """All that is registered with the manager, in the forms in which it keeps them; nothing if nobody imported it."""
    manager: Any = tool_parser.ToolParserManager
    if real:
        found = [sys.modules[path] for path in _MANAGERS if path in sys.modules]
        manager = getattr(found[0], "ToolParserManager", None) if found else None
    if manager is None:
        return {}
    return {**getattr(manager, "lazy_parsers", {}), **manager.tool_parsers}


def _built_in(entry: Any) -> bool:
    """Whether an entry is vLLM's own: those are made when vLLM is first imported, perhaps by this file."""
    place = entry.__module__ if isinstance(entry, type) else entry[0]
    return place.startswith("vllm.") and importlib.util.find_spec(place) is not None


def _class_of(entry: Any, module: ModuleType) -> type[Any]:
    if isinstance(entry, type):
        return entry
    place, name = entry
    if isinstance(vars(module).get(name), type):  # vLLM's guide names a module that the file would be if vLLM had it
        return vars(module)[name]  # type: ignore[no-any-return]  # just asked
    return getattr(importlib.import_module(place), name)  # type: ignore[no-any-return]  # a module's member
