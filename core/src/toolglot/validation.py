"""Checking a finished call against its tool's schema. Needs the extra ``[validate]``; without it nothing is checked,
and said so.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from toolglot.events import Outcome
from toolglot.formats.json_text import decode
from toolglot.requests import Tool

AVAILABLE = importlib.util.find_spec("jsonschema_rs") is not None
"""Whether schemas can be checked in this installation."""


class Validator:
    """Judges finished calls of one request's tools."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.checked = AVAILABLE
        """Whether every call so far was checked against its schema."""

    def outcome(self, name: str, arguments: str) -> Outcome:
        """What is to be said of a call that is whole."""
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

    def _valid(self, tool: Tool, value: dict[str, Any]) -> bool:
        if tool.parameters is None or not AVAILABLE:
            return True
        checker = _checker(msgspec.json.encode(tool.parameters))
        if checker is None:
            self.checked = False
            return True
        try:
            return bool(checker.is_valid(value))
        except ValueError:  # half of a surrogate pair, which no schema's string holds
            return False


@lru_cache(maxsize=1024)
def _checker(schema: bytes) -> Any:
    """The schema's validator, or None where the schema itself is not valid."""
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(msgspec.json.decode(schema), retriever=_refuse)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        return None


def _refuse(uri: str) -> None:
    """Schemas come from clients: nothing that they refer to is fetched or opened."""
    raise ValueError(f"the schema refers to {uri}, which is not in it")
