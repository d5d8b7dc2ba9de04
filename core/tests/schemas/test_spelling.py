"""Schemas of other drafts, of OpenAPI and of BFCL, in the spelling of draft 2020-12."""

from __future__ import annotations

import pytest

from toolglot.schemas import normalise
from toolglot.schemas.spelling import respelled

SPELLINGS = {
    "types": (
        {"type": "dict", "properties": {"a": {"type": "float"}, "b": {"type": "tuple", "items": {"type": "Int"}}}},
        {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "array", "items": {"type": "integer"}}},
        },
    ),
    "nullable": ({"type": "string", "nullable": True}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    "not nullable": ({"type": "string", "nullable": False}, {"type": "string"}),
    "exclusive": (
        {"type": "number", "minimum": 1, "exclusiveMinimum": True, "maximum": 2, "exclusiveMaximum": False},
        {"type": "number", "exclusiveMinimum": 1, "maximum": 2},
    ),
    "exclusive of nothing": ({"type": "number", "exclusiveMinimum": True}, {"type": "number"}),
    "tuples": (
        {"type": "array", "items": [{"type": "null"}], "additionalItems": {"type": "string"}},
        {"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "string"}},
    ),
    "additionalItems of lists": (
        {"type": "array", "items": {"type": "null"}, "additionalItems": False},
        {"type": "array", "items": {"type": "null"}},
    ),
    "dependencies": (
        {"type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
        {"type": "object", "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}},
    ),
}


@pytest.mark.parametrize(("schema", "modern"), SPELLINGS.values(), ids=SPELLINGS)
def test_other_spellings_mean_the_same(schema, modern):
    assert normalise(schema, arguments=False).normal == normalise(modern, arguments=False).normal


@pytest.mark.parametrize(("schema", "modern"), SPELLINGS.values(), ids=SPELLINGS)
def test_validators_get_the_modern_spelling(schema, modern):
    found = respelled(schema)

    assert found.pop("$schema") == "https://json-schema.org/draft/2020-12/schema"
    assert [*map(_types, [found])] == [*map(_types, [modern])]


def _types(schema):
    """The schema, each type in an array."""
    if isinstance(schema, list):
        return [_types(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _types(value) for key, value in schema.items()}
    return {**found, "type": [schema["type"]]} if isinstance(schema.get("type"), str) else found
