"""What is admitted is valid, unless a finding says that it may not be; what is exact admits all that is valid."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolglot.errors import GrammarError
from toolglot.schemas import admits, normalise

NAMES = st.sampled_from(["a", "b", "ab", "c"])
SCALARS = [None, True, False, 0, 1, 2, 1.5, -3, 10, "", "a", "b", "ab", "abc", "é"]
VALUES = [
    *SCALARS,
    *([], [1], [1, 1], [1, True], ["a"], ["a", 1], ["ab", "b", "a"], [[]], [{"a": 1}], [1, 2, 3]),
    *({}, {"a": 1}, {"a": "a"}, {"b": 1}, {"a": 1, "b": 2}, {"a": None, "ab": "a"}, {"c": []}, {"a": {"a": 1}}),
    *({"a": [1], "b": "ab"}, {"ab": 2, "c": 10}, {"a": 1, "b": 1, "c": 1}, {"a": True, "b": {"b": "b"}}),
]
TYPES = ["null", "boolean", "number", "integer", "string", "array", "object"]
COUNTS = st.integers(0, 2)


def keywords(inner):
    """What each keyword may hold; ``inner`` are schemas."""
    schemas = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=2)
    names = st.lists(NAMES, min_size=1, max_size=2, unique=True)
    limits = st.sampled_from([0, 1, 1.5, 2])
    numbers = dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), limits)
    counts = dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), COUNTS)
    one = dict.fromkeys(
        ("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"), inner
    )
    return {
        **numbers,
        **counts,
        **one,
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), schemas),
        **dict.fromkeys(("properties", "dependentSchemas"), named),
        **dict.fromkeys(("minContains", "maxContains"), COUNTS),
        **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), st.just(False) | inner),
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
        "enum": st.lists(st.sampled_from(VALUES), min_size=1, max_size=4),
        "const": st.sampled_from(VALUES),
        "multipleOf": st.sampled_from([1, 2, 5, 0.5, 1.5]),
        "pattern": st.sampled_from(["a", "^a", "b$", "^ab?$", "[^a]"]),
        "uniqueItems": st.booleans(),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b", "c$"]), inner, max_size=2),
        "required": names,
        "dependentRequired": st.dictionaries(NAMES, names, max_size=2),
        "$ref": st.sampled_from(["#/$defs/x", "#/$defs/y"]),
    }


def schemas(depth=3):
    if depth == 0:
        return st.booleans() | st.builds(lambda name: {"type": name}, st.sampled_from(TYPES)) | st.just({})
    return st.booleans() | some(keywords(schemas(depth - 1)))


def some(held):
    """Objects of one to four of the keywords."""
    wanted = st.lists(st.sampled_from(sorted(held)), min_size=1, max_size=4, unique=True)
    return wanted.flatmap(lambda keys: st.fixed_dictionaries({key: held[key] for key in keys}))


def is_valid(schema, value):
    try:
        return Draft202012Validator(schema).is_valid(value)
    except RecursionError:  # a circle among members that no value of the schema's type has
        assume(False)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@example({"const": 1.5, "multipleOf": 0.5}, False, False)
@example({"anyOf": [{"oneOf": [True, {"type": "integer"}]}], "enum": [1.5]}, False, False)
@given(some(keywords(schemas(2))), schemas(2), schemas(1))
def test_admitted_values_are_valid_and_exact_schemas_lose_none(schema, x, y):
    schema = {**schema, "$defs": {"x": x, "y": y}}
    try:
        found = normalise(schema, arguments=False)
    except GrammarError as error:
        said = str(error)
        assume("references" not in said)  # a circle
        assert "a grammar can be made for" in said or not any(is_valid(schema, value) for value in VALUES)
        return
    assume(found.level != "unenforceable")

    assert [value for value in VALUES if admits(found.normal, value) and not is_valid(schema, value)] == []
    if found.level == "exact":
        assert [value for value in VALUES if is_valid(schema, value) and not admits(found.normal, value)] == []
