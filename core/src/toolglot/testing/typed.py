"""Tools whose schemas say of what type the arguments of calls are: some formats write values without their types."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from toolglot.events import Call
from toolglot.requests import Tool

_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def tools_of(calls: Iterable[Call]) -> tuple[Tool, ...]:
    """The tools of ``calls``; where two of one name differ in the type of an argument, that of the last."""
    schemas: dict[str, dict[str, Any]] = {}
    for call in calls:
        schema = schemas.setdefault(call.name, {"type": "object", "properties": {}})
        schema["properties"] |= _schema(json.loads(call.arguments))["properties"]
    return tuple(Tool(name, None, schema) for name, schema in schemas.items())


def _schema(value: Any) -> dict[str, Any]:
    """The schema of one decoded value, and of what is in it."""
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: _schema(member) for key, member in value.items()}}
    if isinstance(value, list):
        return {"type": "array", "prefixItems": [_schema(item) for item in value]}
    return {"type": _NAMES[type(value)]}
