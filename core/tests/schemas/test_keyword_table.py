"""Every keyword that grammars were seen to drop, widen or refuse: each is enforced, refused, or reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations

import pytest

from toolglot.errors import GrammarError
from toolglot.formats.json_grammar import json_value
from toolglot.schemas import admits, normalise
from toolglot.structural_tag import StructuralTag
from toolglot.testing.sampling import Sampler, vocabulary

TREE = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/T"}}, "required": ["v"]}

ENFORCED = {
    "string": ({"type": "string"}, ["", "é\n"], [1, None, ["a"]]),
    "integer": ({"type": "integer"}, [0, -5, 1.0, 10**30], [1.5, "1", True]),
    "number": ({"type": "number"}, [0, 1.5, -2e10], ["1", False]),
    "boolean": ({"type": "boolean"}, [True, False], [0, 1, "true"]),
    "null": ({"type": "null"}, [None], [0, False, ""]),
    "nullable by types": ({"type": ["string", "null"]}, ["a", None], [1]),
    "several types": ({"type": ["integer", "string", "object"]}, [1, "a", {"x": 1}], [1.5, [], None]),
    "required": (
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        [{"a": 1}],
        [{}, {"a": "x"}, []],
    ),
    "optional": ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}}, [{}, {"b": 1}], [{"a": "x"}]),
    "closed": ({"properties": {"a": {}}, "additionalProperties": False}, [{"a": 1}, {}], [{"b": 1}]),
    "open": ({"properties": {"a": {"type": "null"}}, "additionalProperties": True}, [{"b": 1}], [{"a": 1}]),
    "open by a schema": (
        {"properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "integer"}},
        [{"b": 1, "a": None}],
        [{"b": "x"}, {"a": 1}],
    ),
    "$ref": (
        {"type": "array", "items": {"$ref": "#/$defs/p"}, "$defs": {"p": {"minimum": 3, "type": "integer"}}},
        [[3]],
        [[2]],
    ),
    "definitions": (
        {"properties": {"a": {"$ref": "#/definitions/p"}}, "definitions": {"p": {"type": "null"}}},
        [{"a": None}],
        [{"a": 1}],
    ),
    "$ref to a property": (
        {"properties": {"x": {"type": "string"}, "y": {"$ref": "#/properties/x"}}},
        [{"y": "a"}],
        [{"y": 1}],
    ),
    "$ref with siblings": (
        {"properties": {"p": {"$ref": "#/$defs/s", "minLength": 2}}, "$defs": {"s": {"type": "string"}}},
        [{"p": "ab"}],
        [{"p": "a"}, {"p": 1}],
    ),
    "escaped pointer": (
        {"properties": {"p": {"$ref": "#/$defs/a~1b%20c"}}, "$defs": {"a/b c": {"type": "string"}}},
        [{"p": "a"}],
        [{"p": 1}],
    ),
    "$anchor": (
        {"properties": {"p": {"$ref": "#i"}}, "$defs": {"x": {"$anchor": "i", "type": "integer"}}},
        [{"p": 1}],
        [{"p": "s"}],
    ),
    "$id": (
        {"$id": "http://e.com/r", "properties": {"p": {"$ref": "i"}}, "$defs": {"x": {"$id": "i", "type": "integer"}}},
        [{"p": 1}],
        [{"p": "s"}],
    ),
    "recursion": ({"$ref": "#/$defs/T", "$defs": {"T": TREE}}, [{"v": 1, "next": {"v": 2}}], [{"v": 1, "next": {}}]),
    "recursion to the root": (
        {"type": "object", "properties": {"c": {"type": "array", "items": {"$ref": "#"}}}},
        [{"c": [{"c": []}, {}]}],
        [{"c": [1]}],
    ),
    "mutual recursion": (
        {
            "$ref": "#/$defs/A",
            "$defs": {
                "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
                "B": {"type": "array", "items": {"$ref": "#/$defs/A"}},
            },
        },
        [{"b": [{"b": []}]}],
        [{"b": [[]]}],
    ),
    "anyOf": ({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 3}]}, ["a", 3], [2, None]),
    "anyOf with properties": (
        {
            "type": "object",
            "properties": {"k": {"type": "string"}},
            "required": ["k"],
            "anyOf": [
                {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"required": ["k"], "properties": {"b": {}}},
            ],
        },
        [{"k": "x", "a": 1}, {"k": "x", "b": 2}, {"k": "x"}],
        [{"a": 1}, {"k": 1, "a": 1}],
    ),
    "oneOf, disjoint": ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, ["a", 1], [1.5]),
    "oneOf, overlapping": (
        {"oneOf": [{"type": "integer", "maximum": 5}, {"type": "integer", "minimum": 5}]},
        [4, 6],
        [5, "a"],
    ),
    "oneOf, discriminated": (
        {
            "oneOf": [
                {"properties": {"k": {"const": "a"}, "x": {"type": "integer"}}, "required": ["k", "x"]},
                {"properties": {"k": {"const": "b"}, "y": {"type": "string"}}, "required": ["k"]},
            ]
        },
        [{"k": "a", "x": 1}, {"k": "b"}],
        [{"k": "a"}, {"k": "c"}, {"k": "b", "y": 1}],
    ),
    "allOf, one": ({"allOf": [{"type": "integer"}]}, [1], ["a"]),
    "allOf of objects": (
        {
            "allOf": [
                {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
            ]
        },
        [{"a": 1, "b": 2}],
        [{"a": 1}, {"a": 1, "b": "x"}],
    ),
    "allOf of bounds": ({"type": "integer", "allOf": [{"minimum": 3}, {"maximum": 5}]}, [3, 5], [2, 6]),
    "allOf of $ref and properties": (
        {
            "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"n": {"type": "string"}}, "required": ["n"]}],
            "$defs": {"base": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
        },
        [{"id": 1, "n": "x"}],
        [{"id": 1}, {"n": "x"}],
    ),
    "not a type": ({"not": {"type": "string"}}, [1, None, [], {"a": 1}], ["a"]),
    "not an enum": ({"type": "string", "not": {"enum": ["a", "b"]}}, ["", "c", "ab"], ["a", "b", 1]),
    "const string": ({"const": "x"}, ["x"], ["y", 1]),
    "const object": ({"const": {"a": [1, None]}}, [{"a": [1, None]}, {"a": [1.0, None]}], [{}, {"a": [True, None]}]),
    "const number": ({"const": 1}, [1, 1.0], [True, "1"]),
    "const null": ({"const": None}, [None], [False, 0]),
    "enum of all kinds": ({"enum": ["a", 1, None, [1], {"k": 1}]}, ["a", 1, None, [1], {"k": 1}], ["b", 2, [], True]),
    "enum and type": ({"type": "string", "enum": ["a", 1, None]}, ["a"], [1, None]),
    "enum and length": ({"enum": ["a", "abc", 5], "minLength": 2}, ["abc", 5], ["a"]),
    "enum of 1000": ({"enum": [f"v{n}" for n in range(1000)]}, ["v0", "v999"], ["v1000"]),
    "pattern": ({"type": "string", "pattern": "^[a-z]{2}$"}, ["ab"], ["a", "abc", 1]),
    "pattern, unanchored": ({"type": "string", "pattern": "[0-9]+"}, ["abc123def", "1"], ["abc"]),
    "pattern, half anchored": ({"type": "string", "pattern": "^https?://"}, ["http://a.b"], ["xhttp://"]),
    "pattern of alternatives": ({"type": "string", "pattern": r"^(\d{3}|[a-f]+)$"}, ["123", "abc"], ["12", "xyz"]),
    "pattern of anchored alternatives": ({"type": "string", "pattern": "^x$|^y$"}, ["x", "y"], ["xy", "^y"]),
    "pattern of letters": ({"type": "string", "pattern": r"^\p{L}+$"}, ["é", "ab"], ["1", ""]),
    "pattern of quotes": ({"type": "string", "pattern": r'^"[\\]$'}, ['"\\'], ['"', "\\"]),
    "pattern of any character": ({"type": "string", "pattern": "^.a$"}, ['"a', "xa"], ["a"]),
    "pattern of other characters": ({"type": "string", "pattern": "^[^a]$"}, ["b", '"'], ["a", ""]),
    "pattern and length": ({"type": "string", "pattern": "^a+$", "maxLength": 3}, ["a", "aaa"], ["aaaa", ""]),
    "pattern, lookahead": ({"type": "string", "pattern": "^(?=.*[0-9])[a-z0-9]+$"}, ["a1"], ["ab", "A1"]),
    "lengths": ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "\n\n", "😀😀😀"], ["a", "abcd"]),
    "long strings": ({"type": "string", "maxLength": 100_000}, ["a"], ["a" * 100_001]),
    "date-time": ({"type": "string", "format": "date-time"}, ["2024-02-29T12:30:00Z"], ["2024-02-29", "x"]),
    "date": ({"type": "string", "format": "date"}, ["2024-12-31"], ["2024-13-01", "x"]),
    "time": ({"type": "string", "format": "time"}, ["12:30:00Z"], ["25:00:00Z", "x"]),
    "duration": ({"type": "string", "format": "duration"}, ["P1DT2H"], ["1 day"]),
    "email": ({"type": "string", "format": "email"}, ["joe@example.com"], ["joe"]),
    "uuid": ({"type": "string", "format": "uuid"}, ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08"]),
    "uri": ({"type": "string", "format": "uri"}, ["http://example.com/a?b"], ["no uri"]),
    "ipv4": ({"type": "string", "format": "ipv4"}, ["127.0.0.1"], ["256.0.0.1", "x"]),
    "ipv6": ({"type": "string", "format": "ipv6"}, ["::1"], ["12345::"]),
    "hostname": ({"type": "string", "format": "hostname"}, ["www.example.com"], ["-a-"]),
    "unknown format": ({"type": "string", "format": "my-custom"}, ["x"], [1]),
    "format of integers": ({"type": "integer", "format": "int32"}, [1], ["x"]),
    "integer bounds": ({"type": "integer", "minimum": 1, "maximum": 10}, [1, 10], [0, 11, 1.5]),
    "exclusive integer bounds": ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 4}, [2, 3], [1, 4]),
    "number bounds": ({"type": "number", "minimum": 0.25, "maximum": 0.75}, [0.25, 0.5], [0.2, 1]),
    "exclusive number bound": ({"type": "number", "exclusiveMinimum": 0}, [0.001, 1e-3], [0, -1]),
    "multipleOf": ({"type": "integer", "multipleOf": 7}, [0, 14, -7], [1, 15]),
    "multipleOf a fraction, of constants": ({"multipleOf": 0.1, "enum": [0.1, 0.3, 0.25, 1e300]}, [0.1], [0.25]),
    "multipleOf a very small number": ({"type": "number", "multipleOf": 1e-300, "enum": [1, 0.5]}, [1], []),
    "multipleOf a fraction, of a very large constant": (
        {"type": "number", "multipleOf": 0.5, "enum": [10**400, 2]},
        [2],
        [],
    ),
    "multipleOf a fraction": ({"type": "number", "multipleOf": 0.01}, [3], [1.255]),
    "large bounds": ({"type": "integer", "minimum": 2**62, "maximum": 2**63 - 1}, [2**62], [2**63, 0]),
    "exclusive bounds of draft 4": ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, [2], [1]),
    "items": ({"type": "array", "items": {"type": "integer"}}, [[], [1, 2]], [["a"], {}]),
    "items unset": ({"type": "array"}, [[1, "a", None]], [{}]),
    "item counts": (
        {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
        [[1], [1, 2]],
        [[], [1, 2, 3]],
    ),
    "minItems without items": ({"type": "array", "minItems": 2}, [[1, "a"]], [[1]]),
    "uniqueItems of constants": (
        {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
        [[], ["a"], ["b"], ["a", "b"]],
        [["a", "a"], ["c"]],
    ),
    "prefixItems": (
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
        [[], [1], [1, "a"]],
        [["a"], [1, "a", 2]],
    ),
    "prefixItems and more": ({"type": "array", "prefixItems": [{"type": "integer"}]}, [[], [1, "a", True]], [["a"]]),
    "tuples of draft 7": (
        {"type": "array", "items": [{"type": "integer"}], "additionalItems": False},
        [[1]],
        [["a"], [1, 2]],
    ),
    "contains": ({"type": "array", "contains": {"type": "string"}}, [["a"], ["a", 5]], [[], [1, 2]]),
    "patternProperties": (
        {"type": "object", "patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": False},
        [{"x_a": 1}, {"x_": 2}],
        [{"x_a": "s"}, {"y": 1}],
    ),
    "patternProperties and properties": (
        {"properties": {"a": {"type": "string"}, "x_c": {}}, "patternProperties": {"^x_": {"type": "integer"}}},
        [{"a": "q", "x_b": 1, "x_c": 2}],
        [{"x_b": "s"}, {"x_c": "s"}],
    ),
    "propertyNames, pattern": ({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}}, [{"ab": 1}], [{"A": 1}]),
    "propertyNames, enum": ({"type": "object", "propertyNames": {"enum": ["a", "b"]}}, [{}, {"b": 1}], [{"c": 1}]),
    "member counts": (
        {"type": "object", "minProperties": 1, "maxProperties": 2},
        [{"a": 1}],
        [{}, dict.fromkeys("abc", 1)],
    ),
    "minProperties of declared": (
        {"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 1},
        [{"b": 1}],
        [{}],
    ),
    "dependentRequired": (
        {"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}},
        [{}, {"b": 1}, {"a": 1, "b": 1}],
        [{"a": 1}],
    ),
    "dependencies": (
        {"type": "object", "properties": {"a": {}, "b": {}}, "dependencies": {"a": ["b"]}},
        [{}, {"b": 1}, {"a": 1, "b": 1}],
        [{"a": 1}],
    ),
    "dependentSchemas": (
        {
            "type": "object",
            "properties": {"a": {}},
            "dependentSchemas": {"a": {"properties": {"b": {"const": 1}}, "required": ["b"]}},
        },
        [{}, {"a": 1, "b": 1}],
        [{"a": 1}, {"a": 1, "b": 2}],
    ),
    "if, then, else": (
        {
            "type": "object",
            "properties": {"t": {"enum": ["x", "y"]}, "v": {}},
            "required": ["t", "v"],
            "if": {"properties": {"t": {"const": "x"}}},
            "then": {"properties": {"v": {"type": "integer"}}},
            "else": {"properties": {"v": {"type": "string"}}},
        },
        [{"t": "x", "v": 1}, {"t": "y", "v": "s"}],
        [{"t": "x", "v": "s"}, {"t": "y", "v": 1}],
    ),
    "unevaluatedProperties": (
        {
            "allOf": [{"properties": {"a": {"type": "integer"}}}],
            "properties": {"b": {}},
            "unevaluatedProperties": False,
        },
        [{"a": 1, "b": 2}],
        [{"a": 1, "c": 2}],
    ),
    "required without properties": ({"type": "object", "required": ["a"]}, [{"a": 1}, {"a": 1, "b": 2}], [{}]),
    "required, not in properties": (
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "zz"]},
        [{"a": 1, "zz": 2}],
        [{"a": 1}],
    ),
    "no keyword": ({}, [None, 1, "a", [], {"a": 1}], []),
    "true": ({"properties": {"a": True}}, [{"a": 1}], []),
    "false": ({"type": "object", "properties": {"a": False}}, [{}], [{"a": 1}]),
    "properties without type": ({"properties": {"a": {"type": "integer"}}}, [{"a": 1}], [{"a": "x"}]),
    "minLength without type": ({"minLength": 2}, ["ab"], ["a"]),
    "object": ({"type": "object"}, [{}, {"a": 1}], [[]]),
    "object of no properties": ({"type": "object", "properties": {}}, [{}], [[]]),
    "annotations": (
        {"type": "string", "title": "t", "description": "d", "default": 1, "examples": [2], "deprecated": True},
        ["a"],
        [1],
    ),
    "nullable": ({"type": "string", "nullable": True}, ["a", None], [1]),
    "discriminator": (
        {
            "oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
            "discriminator": {"propertyName": "k"},
            "$defs": {
                "A": {"type": "object", "properties": {"k": {"const": "A"}}, "required": ["k"]},
                "B": {"type": "object", "properties": {"k": {"const": "B"}}, "required": ["k"]},
            },
        },
        [{"k": "A"}, {"k": "B"}],
        [{"k": "C"}, {}],
    ),
    "contentMediaType": ({"type": "string", "contentMediaType": "application/json"}, ["x"], [1]),
    "types of Python": ({"type": "dict", "properties": {"a": {"type": "float"}}}, [{"a": 1.5}], [{"a": "x"}, []]),
    "any type": ({"type": "any"}, [1, "a", None, {"a": []}], []),
    "200 members": (
        {"properties": {f"p{n}": {"type": "integer"} for n in range(200)}, "required": [f"p{n}" for n in range(200)]},
        [{f"p{n}": n for n in range(200)}],
        [{"p0": 1}],
    ),
    "names and values of any script": (
        {"properties": {"größe": {"enum": ["😀", "é"]}}, "required": ["größe"]},
        [{"größe": "😀"}],
        [{"größe": "x"}],
    ),
}
"""By feature: a schema, values that are admitted, and values that are not."""

REPORTED = {
    "pattern, lookbehind": ({"type": "string", "pattern": "(?<=a)b"}, "/pattern"),
    "pattern, backreference": ({"type": "string", "pattern": r"^(a|b)\1$"}, "/pattern"),
    "minProperties of many undeclared": ({"type": "object", "minProperties": 50}, "/minProperties"),
    "uniqueItems": ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "/uniqueItems"),
    "external $ref": ({"items": {"$ref": "https://ex.com/s.json"}}, "/items/$ref"),
    "external $ref, as a whole": ({"$ref": "https://ex.com/s.json"}, "/$ref"),
    "external $ref within not": ({"type": "array", "not": {"items": {"$ref": "urn:a"}}}, "/not"),
    "$dynamicRef": ({"items": {"$dynamicRef": "#x"}, "$defs": {"x": {"$dynamicAnchor": "x"}}}, "/items/$dynamicRef"),
    "multipleOf of a constant that floats make no multiple": (
        {"type": "number", "multipleOf": 0.1, "const": 0.3},
        "/multipleOf",
    ),
    "multipleOf a number beyond all digits": ({"type": "number", "multipleOf": 1e300}, "/multipleOf"),
    "multipleOf a large number": ({"type": "integer", "multipleOf": 1009}, "/multipleOf"),
    "unevaluatedItems by value": (
        {"type": "array", "if": {"contains": {"const": 1}}, "unevaluatedItems": False},
        "/unevaluatedItems",
    ),
}
"""By feature: a schema, and the pointer of the keyword that is reported."""

REFUSED = {
    "$id that is no URI": ({"$id": "http://a/b", "items": {"$id": "//["}}, "/items/$id: '//[' is no URI reference"),
    "$ref that is no URI": (
        {"$id": "http://a/b", "items": {"$ref": "//["}},
        "/items/$ref: '//[' is no URI reference",
    ),
    "dangling $ref": ({"items": {"$ref": "#/$defs/None"}}, "/items/$ref: '#/$defs/None' points at nothing"),
    "$ref to no anchor": ({"$ref": "#x"}, "/$ref: no schema has the anchor 'x'"),
    "$ref in a circle": ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "/$defs/A: references"),
    "endless recursion": (
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        "the schema admits no value",
    ),
    "empty enum": (
        {"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]},
        "/properties/a: the schema admits no value",
    ),
    "contradictory bounds": ({"type": "integer", "minimum": 5, "maximum": 3}, "the schema admits no value"),
    "an alternative that is narrowed": (
        {"anyOf": [{"oneOf": [True, {"type": "integer"}]}], "enum": [2.5]},
        "the schema admits no value that a grammar can be made for",
    ),
    "unknown type": ({"items": {"type": "thing"}}, "/items/type: 'thing' is no type of JSON"),
}
"""By feature: a schema, and how the message begins."""


@pytest.mark.parametrize(("schema", "good", "bad"), ENFORCED.values(), ids=ENFORCED)
def test_a_keyword_is_enforced(schema, good, bad):
    found = normalise(schema, arguments=False)

    assert not found.relaxed
    assert [value for value in good if not admits(found.normal, value)] == []
    assert [value for value in bad if admits(found.normal, value)] == []


def spellings(value) -> Iterator[str]:
    """JSON with members in any order, as a grammar wants the declared one, and characters as they are or escaped."""
    ordered = map(dict, permutations(value.items())) if isinstance(value, dict) else [value]
    yield from (json.dumps(one, ensure_ascii=escaped) for one in ordered for escaped in (False, True))


@pytest.fixture(scope="module")
def sampler() -> Sampler:
    """With bytes as tokens."""
    return Sampler(vocabulary((), ()), ())


@pytest.mark.parametrize(("schema", "good", "bad"), ENFORCED.values(), ids=ENFORCED)
def test_the_grammar_enforces_it(sampler, schema, good, bad):
    tag = StructuralTag(json_value(normalise(schema, arguments=False).normal))

    assert [text for value in bad for text in spellings(value) if sampler.admits(tag, text)] == []
    assert any(sampler.admits(tag, text) for value in good for text in spellings(value))


@pytest.mark.parametrize(("schema", "path"), REPORTED.values(), ids=REPORTED)
def test_a_keyword_that_cannot_be_enforced_is_reported(schema, path):
    assert [finding.path for finding in normalise(schema, arguments=False).relaxed] == [path]


@pytest.mark.parametrize(("schema", "said"), REFUSED.values(), ids=REFUSED)
def test_a_schema_that_cannot_be_met_is_refused(schema, said):
    with pytest.raises(GrammarError) as refused:
        normalise(schema, arguments=False)
    assert str(refused.value).startswith(said)
