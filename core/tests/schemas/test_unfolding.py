"""Schemas that take a validator too long."""

from __future__ import annotations

import time
from typing import Any

import pytest

import toolglot
from toolglot.schemas.unfolding import unfolds_within
from toolglot.validation import Validator


def doubled(levels: int) -> dict[str, Any]:
    """Each definition refers to the next one twice."""
    definitions: dict[str, Any] = {
        f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)
    }
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**definitions, f"d{levels}": {}}}


TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"value": {}, "left": {"$ref": "#"}, "right": {"$ref": "#"}, "more": {"items": {"$ref": "#"}}},
}
TWICE_FOR_EACH_ITEM = {
    "properties": {"a": {"$ref": "#/$defs/list"}},
    "$defs": {"list": {"allOf": [{"items": {"$ref": "#/$defs/list"}}, {"items": {"$ref": "#/$defs/list"}}]}},
}
TWICE_BY_TURNS = {
    "properties": {"a": {"$ref": "#/$defs/a"}},
    "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}]}, "b": {"items": {"$ref": "#/$defs/a"}}},
}


@pytest.mark.parametrize(
    "schema",
    [
        {}, True, {"type": "object", "properties": {"a": {"type": "string"}}}, TREE, doubled(5),
        {"properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string"}}},
        {"properties": {"a": {"enum": [{"$ref": "#/nowhere"}]}}},
    ],
)  # fmt: skip
def test_schemas_of_tools_are_used_for_validation(schema: Any) -> None:
    assert unfolds_within(schema)


@pytest.mark.parametrize("schema", [doubled(40), TWICE_FOR_EACH_ITEM, TWICE_BY_TURNS])
def test_what_doubles_with_each_reference_is_not(schema: Any) -> None:
    assert not unfolds_within(schema)


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [(doubled(40), '{"a": 1}'), (TWICE_FOR_EACH_ITEM, '{"a": ' + "[" * 60 + "]" * 60 + "}")],
)
def test_a_call_with_such_a_schema_is_not_checked_and_says_so(schema: Any, arguments: str) -> None:
    validator = Validator([toolglot.Tool("f", None, schema)])

    start = time.monotonic()
    assert validator.outcome("f", arguments) == "ok"
    assert time.monotonic() - start < 5  # a validator would take years
    assert not validator.can_check("f")
    assert not validator.checked
