"""The shape of a schema: each keyword holds what JSON Schema says that it holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from toolglot.errors import GrammarError
from toolglot.schemas.audit import Place
from toolglot.schemas.pointer import placed
from toolglot.schemas.type_names import type_names

MAX_DEPTH = 64
"""How deep a schema may be nested."""

Visit: TypeAlias = Callable[[Place, dict[str, Any]], None]


def shaped(schema: Any, place: Place, visit: Visit, depth: int = 0) -> Any:
    """The schema, without the keywords that are null: some clients write an absent keyword so. ``visit`` is called with
    each schema in it that is an object, and its place.

    Raises:
        GrammarError: a keyword holds what it cannot hold, or the schema is nested more than MAX_DEPTH deep. The message
            names the place.
    """
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping):
        raise wrong(place, "a schema (an object, true or false)", schema)
    if depth > MAX_DEPTH:
        raise GrammarError(f"{place.path}: the schema is nested more than {MAX_DEPTH} deep")
    found = {}
    for key, value in schema.items():
        shape = _SHAPES.get(key)
        if shape is None:
            found[key] = value
        elif value is not None:
            found[key] = shape(value, place.at(key), visit, depth + 1)
    visit(place, found)
    return found


def wrong(place: Place, wanted: str, value: Any) -> GrammarError:
    """The error for a value of the wrong type."""
    return GrammarError(placed(place.path, f"{wanted} is wanted, not {type(value).__name__}"))


def _schemas(value: Any, place: Place, visit: Visit, depth: int) -> Any:
    if not isinstance(value, Mapping):
        raise wrong(place, "an object of schemas", value)
    return {key: shaped(one, place.at(key), visit, depth) for key, one in value.items()}


def _list(value: Any, place: Place, visit: Visit, depth: int) -> Any:
    if not isinstance(value, list):
        raise wrong(place, "an array of schemas", value)
    return [shaped(one, place.at(number), visit, depth) for number, one in enumerate(value)]


def _options(value: Any, place: Place, visit: Visit, depth: int) -> Any:
    if value == []:
        raise GrammarError(f"{place.path}: at least one schema is wanted")
    return _list(value, place, visit, depth)


def _items(value: Any, place: Place, visit: Visit, depth: int) -> Any:
    return (_list if isinstance(value, list) else shaped)(value, place, visit, depth)


def _dependencies(value: Any, place: Place, visit: Visit, depth: int) -> Any:
    if not isinstance(value, Mapping):
        raise wrong(place, "an object of schemas or arrays of names", value)
    return {
        key: (_names if isinstance(one, list) else shaped)(one, place.at(key), visit, depth)
        for key, one in value.items()
    }


def _name_lists(value: Any, place: Place, visit: Visit, depth: int) -> Any:
    if not isinstance(value, Mapping):
        raise wrong(place, "an object of arrays of names", value)
    return {key: _names(one, place.at(key), visit, depth) for key, one in value.items()}


def _values(value: Any, place: Place, visit: Visit, depth: int) -> Any:  # noqa: ARG001  # as the others
    if not isinstance(value, list):
        raise wrong(place, "an array", value)
    return value


def _names(value: Any, place: Place, visit: Visit, depth: int) -> Any:
    if not all(isinstance(name, str) for name in _values(value, place, visit, depth)):
        raise wrong(place, "an array of names", value)
    return value


def _types(value: Any, place: Place, visit: Visit, depth: int) -> Any:
    if not isinstance(value, str) and not (isinstance(value, list) and _names(value, place, visit, depth)):
        raise wrong(place, "a type, or an array of types", value)
    for name in [value] if isinstance(value, str) else value:
        if not type_names(name):
            raise GrammarError(f"{place.path}: {name!r} is no type of JSON")
    return value


def _number(value: Any, place: Place, visit: Visit, depth: int) -> Any:  # noqa: ARG001  # as the others
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(place, "a number", value)
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong(place, "a number", value)
    return value


def _limit(value: Any, place: Place, visit: Visit, depth: int) -> Any:
    return value if isinstance(value, bool) else _number(value, place, visit, depth)


def _divisor(value: Any, place: Place, visit: Visit, depth: int) -> Any:
    if _number(value, place, visit, depth) <= 0:
        raise GrammarError(f"{place.path}: a number above 0 is wanted, not {value}")
    return value


def _count(value: Any, place: Place, visit: Visit, depth: int) -> int:
    if _number(value, place, visit, depth) != int(value) or value < 0:
        raise GrammarError(f"{place.path}: a count is wanted, not {value}")
    return int(value)


def _text(value: Any, place: Place, visit: Visit, depth: int) -> Any:  # noqa: ARG001  # as the others
    if not isinstance(value, str):
        raise wrong(place, "a string", value)
    return value


def _truth(value: Any, place: Place, visit: Visit, depth: int) -> Any:  # noqa: ARG001  # as the others
    if not isinstance(value, bool):
        raise wrong(place, "true or false", value)
    return value


_SHAPES: Mapping[str, Callable[[Any, Place, Visit, int], Any]] = {
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), _schemas),
    **dict.fromkeys(("allOf", "prefixItems"), _list),
    **dict.fromkeys(("anyOf", "oneOf"), _options),
    **dict.fromkeys(
        ("additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "additionalItems"), shaped
    ),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), shaped),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count),
    **dict.fromkeys(("minContains", "maxContains"), _count),
    **dict.fromkeys(("minimum", "maximum"), _number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _limit),
    **dict.fromkeys(("pattern", "format", "$ref"), _text),
    **dict.fromkeys(("uniqueItems", "nullable"), _truth),
    "multipleOf": _divisor,
    "items": _items,
    "dependencies": _dependencies,
    "dependentRequired": _name_lists,
    "enum": _values,
    "required": _names,
    "type": _types,
}
"""What the keywords hold that say something about values."""
