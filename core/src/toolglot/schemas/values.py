"""JSON values, as JSON Schema compares them: 1 is 1.0, and true is not 1."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from decimal import Decimal
from typing import Any

from toolglot.errors import GrammarError

_KINDS = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null", list: "array"}


def identity(value: Any) -> Hashable:
    """What two values have in common when they are equal in JSON Schema, and only then."""
    return value if type(value) is str else json.dumps(_plain(value), sort_keys=True).encode()


def distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """The values, each once, in their order."""
    found: dict[Hashable, Any] = {}
    for value in values:
        found.setdefault(identity(value), value)
    return tuple(found.values())


def kind_of(value: Any) -> str:
    """The kind of a value: one of :data:`toolglot.schemas.unsettled.KINDS`."""
    return _KINDS.get(type(value), "object")


def decimal(value: float) -> Decimal:
    """A number of a JSON text, as it was written."""
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def number(value: Decimal) -> Any:
    """The JSON number that is this much.

    Raises:
        GrammarError: no float is.
    """
    if value == value.to_integral_value():
        return int(value)
    if decimal(float(value)) != value:
        raise GrammarError(f"{value} has more digits than a JSON number can be relied on to keep")
    return float(value)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value
