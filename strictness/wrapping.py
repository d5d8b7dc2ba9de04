"""Any schema as the schema of one argument: references in it are put right."""

from __future__ import annotations

from typing import Any

ARGUMENT = "value"
_AT = f"#/properties/{ARGUMENT}"
_VALUES = ("const", "enum", "default", "examples")
"""Keywords that hold values, not schemas."""
MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
"""Keywords that hold schemas by names of the user's."""


def wrapped(schema: Any) -> dict[str, Any]:
    """The schema of an object with one argument, which ``schema`` describes."""
    dialect = schema.get("$schema") if isinstance(schema, dict) else None
    inner = _moved(schema)
    if isinstance(inner, dict) and "$id" not in inner:
        inner = {keyword: value for keyword, value in inner.items() if keyword != "$schema"}
    head = {"$schema": dialect} if dialect else {}
    return {**head, "type": "object", "properties": {ARGUMENT: inner}, "required": [ARGUMENT]}


def _moved(schema: Any) -> Any:
    """The schema with references to the document's root leading to the argument's place. A part with an ``$id`` is a
    document of its own.
    """
    if isinstance(schema, list):
        return [_moved(part) for part in schema]
    if not isinstance(schema, dict) or _named(schema):
        return schema
    return {keyword: _keyword(keyword, value) for keyword, value in schema.items()}


def _keyword(keyword: str, value: Any) -> Any:
    if keyword in _VALUES:
        return value
    if keyword in ("$ref", "$dynamicRef") and isinstance(value, str):
        return _AT + value[1:] if value == "#" or value.startswith("#/") else value
    if keyword in MAPS and isinstance(value, dict):
        return {name: _moved(part) for name, part in value.items()}
    return _moved(value)


def _named(schema: dict[str, Any]) -> bool:
    found = schema.get("$id")
    return isinstance(found, str) and not found.startswith("#")
