"""How large a schema may be."""

from typing import Any

import pytest

from toolglot.errors import GrammarError
from toolglot.schemas.limits import Limits, check

SMALL = Limits(
    size=500, values=60, depth=3, properties=5, all_properties=8, enum_values=4, enum_size=30, branches=4,
    references=2, pattern_length=20, repetition=50,
)  # fmt: skip


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


def named(count: int) -> dict[str, Any]:
    return {"properties": {f"p{number}": {} for number in range(count)}}


REFERENCE = {"$ref": "#"}
WITHIN_AND_OVER = {
    "size": ({"description": "x" * 400}, {"description": "x" * 500}, "/description: a schema may have 500 bytes"),
    "values": ({"default": [0] * 50}, {"default": [0] * 60}, "60 values in all"),
    "depth": (nested(3), nested(4), "/items/items/items/items: a schema may have 3 levels"),
    "depth of not": ({"not": {"not": {"not": {}}}}, {"not": {"not": {"not": {"not": {}}}}}, "/not/not/not/not: "),
    "depth of constants": ({"const": [[[0]]]}, {"const": [[[[0]]]]}, "/const/0/0/0/0: "),
    "properties": (named(5), named(6), "/properties: a schema may have 5 properties in one object"),
    "all properties": ({"$defs": {"a": named(5)}}, {"$defs": {"a": named(5), "b": named(4)}}, "8 properties in all"),
    "enum values": ({"enum": [1, 2, 3, 4]}, {"enum": [1, 2, 3, 4, 5]}, "/enum: a schema may have 4 values in one enum"),
    "enum size": ({"enum": ["x" * 20]}, {"enum": ["é" * 20]}, "/enum: a schema may have 30 bytes in one enum"),
    "branches": ({"anyOf": [{}] * 4}, {"anyOf": [{}] * 5}, "/anyOf: a schema may have 4 schemas in one list"),
    "items of old drafts": ({"items": [{}] * 4}, {"items": [{}] * 5}, "/items: a schema may have 4 schemas"),
    "references": ({"anyOf": [REFERENCE] * 2}, {"anyOf": [REFERENCE] * 3}, "2 references"),
    "pattern": ({"pattern": "x" * 20}, {"pattern": "x" * 21}, "/pattern: a schema may have 20 characters"),
    "names by pattern": ({"patternProperties": {"x" * 20: {}}}, {"patternProperties": {"x" * 21: {}}}, "20 characters"),
    "repetition": ({"pattern": "x{1,50}"}, {"pattern": "x{1,51}"}, "/pattern: a schema may have 50 repetitions"),
    "at least": ({"pattern": "x{50,}"}, {"pattern": "(x{51,})"}, "50 repetitions"),
    "exactly": ({"pattern": "x{50}"}, {"pattern": "x{51}"}, "50 repetitions"),
    "names by repetition": ({"patternProperties": {"x{50}": {}}}, {"patternProperties": {"x{51}": {}}}, "/x{51}: "),
}


@pytest.mark.parametrize("name", WITHIN_AND_OVER)
def test_a_schema_over_a_limit_is_refused_by_its_name(name):
    within, over, message = WITHIN_AND_OVER[name]

    check(within, SMALL)
    with pytest.raises(GrammarError) as refused:
        check(over, SMALL)

    assert message in str(refused.value)
    assert str(refused.value).startswith("/")


def test_names_and_constants_are_no_keywords():
    check({"properties": {"pattern": {}, "enum": {}, "$ref": {}, "anyOf": {}}, "default": {"pattern": "x" * 30}}, SMALL)
    check({"pattern": r"x\{999}"}, SMALL)


@pytest.mark.parametrize("schema", [True, None, 5, {"properties": 5, "enum": {}, "pattern": 7, "anyOf": "x"}])
def test_what_is_no_schema_is_for_others_to_refuse(schema):
    check(schema, SMALL)


def test_the_pointer_is_escaped():
    with pytest.raises(GrammarError, match=r"^/properties/a~1b~0/pattern: "):
        check({"properties": {"a/b~": {"pattern": "x" * 30}}}, SMALL)


def test_a_schema_that_is_nested_too_deeply_for_recursion_is_refused():
    schema = nested(100_000)

    with pytest.raises(GrammarError, match="64 levels"):
        check(schema)

    while "items" in schema:  # taken apart from the outside, as its deletion is recursive
        schema = schema["items"]


def test_a_number_too_long_to_print_counts_as_its_digits():
    with pytest.raises(GrammarError, match="/maximum: a schema may have 500 bytes"):
        check({"maximum": 10**5000}, SMALL)


def test_schemas_of_real_tools_are_within():
    tool = {"type": "object", "properties": {f"p{number}": {"enum": ["a", "b"]} for number in range(500)}}

    check({"$defs": {"tool": tool}, "anyOf": [{"$ref": "#/$defs/tool"}] * 100})
