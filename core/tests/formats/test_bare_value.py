"""The types of values that are written without one."""

from __future__ import annotations

import json

import pytest

from toolglot.formats.bare_value import Subschema, bare_value, string_only
from toolglot.requests import Tool

DEFINITIONS = {
    "$defs": {
        "count": {"$ref": "#/$defs/whole"},
        "whole": {"type": "integer"},
        "a/b c": {"type": "boolean"},
        "loop": {"$ref": "#/$defs/loop"},
        "tree": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/tree"}}]},
    }
}


def value_of(text, schema):
    return bare_value(text, Subschema(schema, DEFINITIONS))


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "42", "42"),
        ({"type": "string"}, " null ", " null "),
        ({"type": "integer"}, " 42\n", 42),
        ({"type": "integer"}, "007", 7),
        ({"type": "integer"}, "1_000", 1000),
        ({"type": "integer"}, "3.5", 3.5),
        ({"type": "integer"}, "soon", "soon"),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "number"}, ".5", 0.5),
        ({"type": "number"}, "inf", "inf"),
        ({"type": "number"}, "NaN", "NaN"),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "boolean"}, "1", True),
        ({"type": "boolean"}, "0", False),
        ({"type": "boolean"}, "yes", "yes"),
        ({"type": ["boolean", "integer"]}, "1", 1),
        ({"type": "null"}, "None", None),
        ({"type": "null"}, "NULL", None),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["string", "null"]}, "none", "none"),
        ({"type": ["string", "integer"]}, "42", 42),
        ({"type": ["string", "integer"]}, "042", "042"),
        ({"type": ["string", "integer"]}, "4 2", "4 2"),
        ({"type": ["string", "boolean"]}, "1", "1"),
        ({"type": "array"}, '["a", 1]', ["a", 1]),
        ({"type": "array"}, "['a', True]", ["a", True]),
        ({"type": "array"}, "(1,)", [1]),
        ({"type": "array"}, '{"a": 1}', {"a": 1}),
        ({"type": ["array", "string"]}, '{"a": 1}', '{"a": 1}'),
        ({"type": ["array", "string"]}, "[a, b]", "[a, b]"),
        ({"type": "object"}, "{'k': None}", {"k": None}),
        ({"type": "object"}, '{"k": "}"} x', '{"k": "}"} x'),
        ({"type": "int"}, "3", 3),
        ({"type": "Dict"}, "{}", {}),
        ({"type": "any"}, "3", 3),
        ({"enum": [1, 2]}, "1", 1),
        ({"enum": ["none", "some"]}, "none", "none"),
        ({"enum": ["a", None]}, "null", None),
        ({"const": True}, "true", True),
        ({"properties": {}}, "{}", {}),
        ({"items": {}}, "[]", []),
        ({"type": "integer", "nullable": True}, "null", None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "x", "x"),
        ({"anyOf": [{"type": "integer"}, {}]}, "x", "x"),
        ({"allOf": [{"type": ["integer", "string"]}, {"type": ["integer", "null"]}]}, "3", 3),
        ({"$ref": "#/$defs/count"}, "3", 3),
        ({"$ref": "#/$defs/a~1b%20c"}, "true", True),
        ({"$ref": "#/$defs/loop"}, "3", "3"),
        ({"$ref": "#/$defs/none"}, "3", "3"),
        ({"$ref": "https://example.org"}, "3", "3"),
        ({"$ref": "#/$defs/tree"}, "[null]", [None]),
        ({"minimum": 2}, "3", 3),
        ({"minimum": 2}, "soon", "soon"),
        ({"minItems": 1}, "['a']", ["a"]),
        ({"contains": {"type": "integer"}}, "[1]", [1]),
        ({"unevaluatedItems": False}, "[]", []),
        ({"propertyNames": True}, "{}", {}),
        ({"required": ["a"]}, '{"a": 1}', {"a": 1}),
        ({"dependentRequired": {"a": ["b"]}}, "{}", {}),
        ({"required": True}, "3", "3"),
        ({"minLength": 1}, "3", "3"),
        ({"minLength": 1, "minimum": 2}, "3", 3),
        ({"minLength": 1, "minimum": 2}, "true", "true"),
        ({"allOf": [{"minimum": 2}, {"multipleOf": 2}]}, "4", 4),
        ({"allOf": [{"minimum": 2}, {"type": ["integer", "string"]}]}, "true", "true"),
        ({"anyOf": [{"minimum": 2}, {"maxItems": 1}]}, "3", 3),
        ({"anyOf": [{"minimum": 2}, {"maxItems": 1}]}, "[]", []),
        ({"anyOf": [{"minimum": 2}, {"maxLength": 3}]}, "3", 3),
        ({"anyOf": [{"minimum": 2}, {}]}, "x", "x"),
        ({}, "3", "3"),
        (True, "3", "3"),
        ({"description": "anything"}, "null", "null"),
    ],
)
def test_the_first_type_that_the_schema_takes(schema, text, value):
    assert json.loads(value_of(text, schema)) == value
    assert type(json.loads(value_of(text, schema))) is type(value)


def test_without_a_schema_a_value_is_a_string():
    assert bare_value("42", None) == '"42"'
    assert string_only(None)


def test_json_stays_as_it_was_written():
    assert value_of(' {"a":1.50,\n"b":1E2} ', {"type": "object"}) == '{"a":1.50,\n"b":1E2}'
    assert value_of("1.50", {"type": "number"}) == "1.50"


@pytest.mark.parametrize(
    ("schema", "only"),
    [
        ({"type": "string"}, True),
        ({"enum": ["a", "b"]}, True),
        ({}, True),
        ({"type": ["string"]}, True),
        ({"type": ["string", "null"]}, False),
        ({"type": "integer"}, False),
        ({"$ref": "#/$defs/count"}, False),
        ({"minLength": 2}, True),
        ({"minimum": 2}, False),
    ],
)
def test_what_can_be_nothing_but_a_string(schema, only):
    assert string_only(Subschema(schema, DEFINITIONS)) == only


def test_schemas_of_members_and_items():
    parameters = {
        "properties": {
            "list": {"prefixItems": [{"type": "null"}], "items": {"$ref": "#/$defs/whole"}},
            "either": {"anyOf": [{"properties": {"x": {"type": "integer"}}}, {"properties": {"x": {"type": "null"}}}]},
            "open": {"additionalProperties": {"type": "number"}},
        },
        **DEFINITIONS,
    }
    schema = Subschema.of_tool(Tool("f", parameters=parameters))
    assert schema is not None

    listed, either, opened = (schema.property(key) for key in ("list", "either", "open"))
    assert listed is not None
    assert [listed.item(number).types for number in (0, 1, 9)] == [{"null"}, {"integer"}, {"integer"}]
    assert either is not None
    assert either.property("x").types == {"integer", "null"}
    assert opened is not None
    assert opened.property("any").types == {"number"}
    assert schema.property("none") is None
    assert opened.item(0) is None
    assert Subschema.of_tool(Tool("f")) is None
    assert Subschema.of_tool(None) is None
