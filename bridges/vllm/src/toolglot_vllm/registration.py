"""Telling vLLM of the installed parsers. None of them is imported before it is asked for."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable

from toolglot import UnknownParserError, parser_names

PREFIX = "toolglot_"
"""What stands before the names of toolglot's parsers in vLLM."""
REPLACE = "TOOLGLOT_VLLM_REPLACE"
"""The environment variable with the names, comma-separated, that are registered without the prefix too, in the place of
vLLM's own; ``all`` are all."""

_KINDS = (
    ("ToolParserManager", "tool_parsers", "toolglot_vllm.tool_parser"),
    ("ReasoningParserManager", "reasoning_parsers", "toolglot_vllm.reasoning_parser"),
)
"""vLLM's managers, what each calls the classes that it has loaded, and where its toolglot classes are."""
_OWN = "hf"
"""vLLM gives this name a meaning of its own."""
_WRITTEN_FOR = "0.32"
_log = logging.getLogger("vllm.toolglot")  # vLLM shows what is logged below its own name


def register(names: Iterable[str] | None = None) -> list[str]:
    """Register parsers (None: all that are installed) with vLLM, and return the names by which it then knows them.

    It may be called any number of times. Where this vLLM lacks what is needed, that is logged, and nothing registered.

    Raises:
        UnknownParserError: one of ``names`` is not installed.
    """
    wanted = _known(names)
    try:
        from toolglot_vllm import interfaces, unified  # vLLM's, which must not be imported before it is used
    except ImportError as error:
        _log.error("toolglot's parsers are not registered, since this vLLM is not as %s is: %s", _WRITTEN_FOR, error)
        return []
    pairs = [(asked, name) for name in wanted for asked in _asked(name)]
    for kind, loaded, module in _KINDS:
        manager = getattr(interfaces, kind)
        for asked, name in pairs:
            manager.register_lazy_module(asked, module, name)
            getattr(manager, loaded).pop(asked, None)  # it would be found first
    unified.install()
    for difference in interfaces.missing():
        _log.warning("vLLM %s is not as %s is: %s", interfaces.version(), _WRITTEN_FOR, difference)
    return [asked for asked, _ in pairs]


def _known(names: Iterable[str] | None) -> list[str]:
    known = parser_names()
    wanted = known if names is None else list(names)
    for name in wanted:
        if name not in known:
            raise UnknownParserError(name, known)
    return wanted


def _asked(name: str) -> list[str]:
    """The names under which vLLM has a parser."""
    replaced = {one.strip() for one in os.environ.get(REPLACE, "").split(",")}
    own = name in replaced or ("all" in replaced and name != _OWN)
    return [PREFIX + name, name] if own else [PREFIX + name]
