"""Two JSON Schemas as one that admits what both admit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolglot.formats.bare_value import type_names


def merged(first: Any, second: Any) -> Any:
    """A schema for what both admit. Where two keywords cannot be joined, that of ``second`` stands."""
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        return False if False in (first, second) else (second if first is True else first)
    both = dict(first)
    for key, value in second.items():
        if key in ("anyOf", "oneOf", "$ref") and key in both:
            both["allOf"] = [*both.get("allOf", ()), {key: value}]
        else:
            both[key] = _JOINS[key](both[key], value) if key in both and key in _JOINS else value
    return both


def _properties(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    joined = dict(first)
    for key, value in second.items():
        joined[key] = {"allOf": [joined[key], value]} if key in joined else value
    return joined


def _types(first: Any, second: Any) -> list[str]:
    """The types in both; every integer is a number."""
    names, others = type_names(first), type_names(second)
    found = [name for name in names if name in others or (name == "integer" and "number" in others)]
    return found + ["integer"] * ("number" in names and "integer" in others and "integer" not in found)


def _members(first: list[Any], second: list[Any]) -> list[Any]:
    return [member for member in first if member in second]


_JOINS: Mapping[str, Callable[[Any, Any], Any]] = {
    "properties": _properties,
    "required": lambda first, second: list(dict.fromkeys([*first, *second])),
    "type": _types,
    "enum": _members,
    "allOf": lambda first, second: [*first, *second],
    "items": lambda first, second: {"allOf": [first, second]},
    "additionalProperties": merged,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems"), min),
}
