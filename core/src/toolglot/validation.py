"""Checking a finished call against its tool's schema. Needs the extra ``[validate]``; without it nothing is checked,
and said so.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

from toolglot.errors import GrammarError
from toolglot.events import Outcome
from toolglot.requests import Tool
from toolglot.schemas.audit import Place
from toolglot.schemas.shapes import shaped
from toolglot.schemas.spelling import respelled
from toolglot.schemas.unfolding import unfolds_within

AVAILABLE = importlib.util.find_spec("jsonschema_rs") is not None
"""Whether schemas can be checked in this installation."""


_PATTERNS_SIZE = 4 << 20
"""Bytes that the compiled patterns of one schema may have together; to compile these takes some tenths of a second."""


class Validator:
    """Judges finished calls of one request's tools."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.checked = AVAILABLE
        """Whether every call so far was checked against its schema."""

    def outcome(self, name: str, arguments: str) -> Outcome:
        """What is to be said of a call that is whole."""
        from toolglot.formats.json_text import decode  # formats import this module

        try:
            value = decode(arguments)
        except ValueError:
            return "malformed"
        if not isinstance(value, dict):
            return "malformed"
        tool = self._tools.get(name)
        if tool is None:
            return "unknown_tool"
        return "ok" if self._valid(tool, value) else "schema_violation"

    def can_check(self, name: str) -> bool:
        """Whether the arguments of calls of this tool can be checked."""
        tool = self._tools.get(name)
        return AVAILABLE and tool is not None and (tool.parameters is None or _checker_of(tool.parameters) is not None)

    def _valid(self, tool: Tool, value: dict[str, Any]) -> bool:
        if tool.parameters is None or not AVAILABLE:
            return True
        checker = _checker_of(tool.parameters)
        if checker is None:
            self.checked = False
            return True
        try:
            return bool(checker.is_valid(value))
        except ValueError:  # half of a surrogate pair, which no schema's string holds
            return False


def _checker_of(schema: Mapping[str, Any]) -> Any:
    return _checker(msgspec.json.encode(schema))


@lru_cache(maxsize=1024)
def _checker(text: bytes) -> Any:
    """The schema's validator, or None where there is none: the schema itself is not valid, or would take too long."""
    schema = msgspec.json.decode(text)
    made = map(_made, _spellings(schema) if unfolds_within(schema) else ())
    return next((checker for checker in made if checker is not None), None)


def _spellings(schema: Any) -> Iterator[Any]:
    """The schema in one draft's spelling, since clients also write old drafts and other languages' types; then as it
    is, in case that loses a reference.
    """
    with suppress(GrammarError):  # no schema as we know them, but perhaps as the validator does
        yield respelled(shaped(schema, Place(""), lambda *_: None))
    yield schema


def _made(schema: Any) -> Any:
    import jsonschema_rs

    try:
        size = _PATTERNS_SIZE // max(1, _count_patterns(schema))
        patterns = jsonschema_rs.FancyRegexOptions(size_limit=size)
        return jsonschema_rs.validator_for(schema, validate_formats=True, retriever=_refuse, pattern_options=patterns)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        return None


def _count_patterns(schema: Any) -> int:
    """How many patterns there are, at the most."""
    if isinstance(schema, list):
        return sum(map(_count_patterns, schema))
    if not isinstance(schema, dict):
        return 0
    named = schema.get("patternProperties")
    own = ("pattern" in schema) + (len(named) if isinstance(named, dict) else 0)
    return own + sum(map(_count_patterns, schema.values()))


def _refuse(uri: str) -> None:
    """Schemas come from clients: nothing that they refer to is fetched or opened."""
    raise ValueError(f"the schema refers to {uri}, which is not in it")
