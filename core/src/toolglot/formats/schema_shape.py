"""The shape of a schema: each keyword holds what JSON Schema says that it holds, before a grammar is made from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolglot.errors import GrammarError

MAX_DEPTH = 64
"""How deep a schema may be nested."""


def shaped(schema: Any, path: str = "", depth: int = 0) -> Any:
    """The schema, without the keywords that are null: some clients write an absent keyword so.

    Raises:
        GrammarError: a keyword holds what it cannot hold, or the schema is nested more than MAX_DEPTH deep. The message
            names the place.
    """
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping):
        raise _wrong(path, "a schema (an object, true or false)", schema)
    if depth > MAX_DEPTH:
        raise GrammarError(f"the schema is nested more than {MAX_DEPTH} deep")
    return {
        key: _SHAPES[key](value, f"{path}/{key}", depth + 1) if key in _SHAPES else value
        for key, value in schema.items()
        if value is not None or key not in _SHAPES
    }


def _schemas(value: Any, path: str, depth: int) -> Any:
    if not isinstance(value, Mapping):
        raise _wrong(path, "an object of schemas", value)
    return {key: shaped(one, f"{path}/{key}", depth) for key, one in value.items()}


def _list(value: Any, path: str, depth: int) -> Any:
    if not isinstance(value, list):
        raise _wrong(path, "an array of schemas", value)
    return [shaped(one, f"{path}/{number}", depth) for number, one in enumerate(value)]


def _items(value: Any, path: str, depth: int) -> Any:
    return _list(value, path, depth) if isinstance(value, list) else shaped(value, path, depth)


def _values(value: Any, path: str, depth: int) -> Any:  # noqa: ARG001  # as the others
    if not isinstance(value, list):
        raise _wrong(path, "an array", value)
    return value


def _names(value: Any, path: str, depth: int) -> Any:
    if not all(isinstance(name, str) for name in _values(value, path, depth)):
        raise _wrong(path, "an array of names", value)
    return value


def _types(value: Any, path: str, depth: int) -> Any:
    if not isinstance(value, str) and not (_names(value, path, depth) and value):
        raise _wrong(path, "a type, or an array of types", value)
    return value


def _wrong(path: str, wanted: str, value: Any) -> GrammarError:
    return GrammarError(f"{path or '/'}: {wanted} is wanted, not {type(value).__name__}")


_SHAPES: Mapping[str, Callable[[Any, str, int], Any]] = {
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions"), _schemas),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _list),
    **dict.fromkeys(("additionalProperties", "propertyNames", "contains", "not"), shaped),
    "items": _items,
    "enum": _values,
    "required": _names,
    "type": _types,
}
"""What the keywords hold that grammars are made from."""
