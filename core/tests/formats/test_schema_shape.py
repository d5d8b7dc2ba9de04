"""Schemas that are none are refused with their place, in every format; null keywords are as good as absent."""

from __future__ import annotations

import pytest

from toolglot import Parser, Tool
from toolglot.errors import GrammarError
from toolglot.formats import (
    Calls,
    ElementCall,
    Frame,
    HeadedCall,
    JsonCall,
    Map,
    PythonCall,
    WireFormat,
    WireFormatParser,
)
from toolglot.formats.schema_shape import MAX_DEPTH, shaped
from toolglot.requests import Request

BODIES = {
    "json": JsonCall(),
    "element": ElementCall("{name}\n", "<p={key}>{value}</p>\n"),
    "python": PythonCall(),
    "map": HeadedCall(("call:{name}",), Map("<q>")),
}


def tag(body, parameters):
    form = WireFormat((Calls(body, call=Frame(("<call>",), ("</call>",))),))
    request = Request(tools=(Tool("f", None, parameters),), tool_choice="required")
    return Parser("toy", WireFormatParser(form)).constrain(request)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": []}, "/properties: an object of schemas is wanted, not list"),
        ({"properties": {"a": None}}, "/properties/a: a schema (an object, true or false) is wanted, not NoneType"),
        ({"properties": {"a": {"type": []}}}, "/properties/a/type: a type, or an array of types is wanted, not list"),
        ({"properties": {"a": {"enum": 1}}}, "/properties/a/enum: an array is wanted, not int"),
        ({"required": "a"}, "/required: an array is wanted, not str"),
        ({"required": [1]}, "/required: an array of names is wanted, not list"),
        ({"anyOf": {}}, "/anyOf: an array of schemas is wanted, not dict"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(body, schema, said):
    with pytest.raises(GrammarError) as refused:
        tag(body, schema)
    assert str(refused.value) == said


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_null_is_as_good_as_absent(body):
    null = {"type": "object", "properties": {"a": {"type": "string", "enum": None}}, "required": None}

    assert tag(body, null) == tag(body, {"type": "object", "properties": {"a": {"type": "string"}}})
    assert tag(body, {"properties": None}) == tag(body, {})


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_schema_that_is_nested_too_deeply_is_refused(body):
    schema = {"type": "string"}
    for _ in range(MAX_DEPTH + 200):
        schema = {"type": "object", "properties": {"a": schema}}

    with pytest.raises(GrammarError, match=f"nested more than {MAX_DEPTH} deep"):
        tag(body, schema)


def test_values_are_not_schemas():
    schema = {"default": None, "const": {"type": []}, "enum": [None, {"properties": []}], "x-note": None}

    assert shaped(schema) == schema
