"""What a schema becomes, and what is said of it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from toolglot.errors import GrammarError
from toolglot.schemas import admits, normalise
from toolglot.schemas.normal import (
    Anything,
    Array,
    Bound,
    Constants,
    Number,
    Object,
    Others,
    Property,
    Reference,
    String,
)
from toolglot.schemas.shapes import MAX_DEPTH


def node(schema):
    return normalise(schema, arguments=False).normal.root


def levels(schema):
    return {finding.path: finding.level for finding in normalise(schema).findings}


class TestArguments:
    def test_are_an_object_whatever_the_schema_says(self):
        normal = normalise({"properties": {"a": {"type": "string"}}, "anyOf": [{}, {"type": "integer"}]}).normal

        assert normal.root == Object((Property("a", String()),))

    def test_of_a_tool_without_parameters_are_empty(self):
        assert normalise(None).normal.root == Object()

    def test_that_can_be_no_object_are_refused(self):
        with pytest.raises(GrammarError, match=r"^the schema admits no object"):
            normalise({"type": "string"})


class TestObjects:
    def test_that_declare_members_are_closed_which_is_said(self):
        schema = {"type": "object", "properties": {"a": {}}}

        assert node(schema) == Object((Property("a", Anything()),))
        assert levels(schema) == {"/type": "exact", "/properties": "narrowed"}

    @pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "object", "properties": {}}])
    def test_that_declare_none_are_open(self, schema):
        assert node(schema) == Object(others=(Others(Anything()),))
        assert set(levels(schema).values()) == {"exact"}

    def test_that_are_open_stay_open(self):
        schema = {"properties": {"a": {"type": "null"}}, "additionalProperties": {}}

        assert node(schema) == Object((Property("a", Constants((None,))),), (Others(Anything()),))

    def test_that_need_more_members_than_they_declare_are_open(self):
        assert node({"properties": {"a": {}}, "minProperties": 2}).others == (Others(Anything()),)

    def test_joined_by_all_of_are_closed_together(self):
        schema = {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}, "required": ["b"]}]}

        assert node(schema) == Object((Property("a", Anything()), Property("b", Anything(), required=True)))

    @pytest.mark.parametrize("order", [1, -1])
    def test_that_are_closed_are_counted_exactly_wherever_that_is_said(self, order):
        closed = {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": False}
        counted = {"type": "object", "minProperties": 2}

        assert set(levels({"allOf": [closed, counted][::order]}).values()) == {"exact"}

    @pytest.mark.parametrize(("least", "level"), [(2, "exact"), (3, "narrowed")])
    def test_one_undeclared_member_is_counted_exactly_and_more_are_told_apart(self, least, level):
        open_ = {"type": "object", "required": ["a"]}
        counted = {"type": "object", "minProperties": least}

        assert levels({"allOf": [open_, counted]})["/allOf/1/minProperties"] == level

    @pytest.mark.parametrize("names", [{"maxLength": 3}, {"pattern": "^x"}])
    def test_names_need_no_type_to_be_strings(self, names):
        assert set(levels({"type": "object", "propertyNames": names}).values()) == {"exact"}

    def test_leave_out_members_that_admit_nothing(self):
        schema = {"properties": {"a": {"type": "string", "enum": [1]}, "b": {}}}

        assert node(schema) == Object((Property("b", Anything()),))

    def test_that_are_open_exclude_members_that_admit_nothing(self):
        normal = normalise({"properties": {"a": False}, "additionalProperties": {"type": "null"}}).normal

        assert not admits(normal, {"a": None})
        assert admits(normal, {"b": None})

    def test_take_a_required_member_from_the_patterns_that_match_it(self):
        schema = {"patternProperties": {"^x": {"type": "null"}}, "required": ["xy"], "additionalProperties": False}

        assert node(schema).properties == (Property("xy", Constants((None,)), required=True),)

    def test_whose_required_member_may_not_be_there_are_refused(self):
        with pytest.raises(GrammarError, match=r"^/required: the schema admits no value"):
            normalise({"properties": {"a": {}}, "required": ["b"], "additionalProperties": False})


class TestTypes:
    def test_that_are_not_said_are_those_that_keywords_speak_of(self):
        schema = {"properties": {"a": {"minLength": 2}}}

        assert node(schema) == Object((Property("a", String(2)),))
        assert levels(schema)["/properties/a/minLength"] == "narrowed"

    def test_that_are_said_elsewhere_are_no_narrowing(self):
        schema = {"properties": {"a": {"type": "string", "anyOf": [{"minLength": 2}, {"pattern": "^x"}]}}}

        assert {level for path, level in levels(schema).items() if path.startswith("/properties/a")} == {"exact"}

    def test_do_not_matter_where_nothing_is_said(self):
        assert node({"properties": {"a": {"description": "x"}}}) == Object((Property("a", Anything()),))


class TestNumbers:
    def test_that_are_integers_have_inclusive_bounds(self):
        schema = {"type": "integer", "exclusiveMinimum": 0.5, "exclusiveMaximum": 9, "multipleOf": 3}

        assert node(schema) == Number(True, Bound(Decimal(3)), Bound(Decimal(6)), 3)

    def test_of_which_there_is_one_are_constants(self):
        assert node({"type": "number", "minimum": 0.5, "maximum": 0.5}) == Constants((0.5,))

    def test_that_are_multiples_of_a_fraction_are_integers_which_is_said(self):
        schema = {"properties": {"a": {"type": "number", "multipleOf": 0.5}}}

        assert node(schema["properties"]["a"]) == Number(integer=True)
        assert levels(schema)["/properties/a/multipleOf"] == "narrowed"

    @pytest.mark.parametrize(("named", "level"), [([0.1, 0.25], "exact"), ([0.1, 0.3], "narrowed")])
    def test_of_fractions_are_the_constants_that_all_validators_take_for_multiples(self, named, level):
        schema = {"type": "number", "multipleOf": 0.1, "enum": named}

        assert normalise(schema, arguments=False).normal.root == Constants((0.1,))
        assert normalise(schema, arguments=False).level == level


class TestArrays:
    def test_end_where_an_item_admits_nothing(self):
        assert node({"type": "array", "prefixItems": [{"type": "null"}, False]}) == Array((Constants((None,)),), None)

    def test_contain_what_they_must_at_their_beginning_which_is_said(self):
        schema = {"properties": {"a": {"type": "array", "contains": {"type": "null"}}}}

        assert node(schema["properties"]["a"]) == Array((Constants((None,)),), Anything(), 1)
        assert levels(schema)["/properties/a/contains"] == "narrowed"

    def test_of_items_that_differ_by_type_are_unique(self):
        schema = {"prefixItems": [{"type": "null"}, {"type": "string"}], "items": False, "type": "array"}

        assert node({**schema, "uniqueItems": True}) == node(schema)


class TestReferences:
    def test_that_are_recursive_stay(self):
        normal = normalise({"properties": {"child": {"$ref": "#"}}}).normal

        name = normal.root.properties[0].value.name
        assert normal.definitions[name] == Object((Property("child", Reference(name)),))

    def test_to_small_schemas_are_replaced_by_them(self):
        schema = {"properties": {name: {"$ref": "#/$defs/s"} for name in "ab"}, "$defs": {"s": {"type": "string"}}}

        normal = normalise(schema).normal
        assert normal.root == Object((Property("a", String()), Property("b", String())))
        assert not normal.definitions

    def test_to_large_schemas_do_not_multiply_them(self):
        levels_ = {
            f"d{n}": {"type": "object", "properties": {name: {"$ref": f"#/$defs/d{n + 1}"} for name in "ab"}}
            for n in range(40)
        }
        schema = {"$ref": "#/$defs/d0", "$defs": {**levels_, "d40": {"type": "object", "required": list("abcdefgh")}}}

        assert len(str(normalise(schema).normal)) < 50_000

    def test_that_are_recursive_can_be_joined(self):
        lists = {
            "two": {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/two"}},
            "three": {"type": "array", "minItems": 1, "items": {"anyOf": [{"$ref": "#/$defs/three"}, {"maxItems": 0}]}},
        }
        schema = {"allOf": [{"$ref": "#/$defs/two"}, {"$ref": "#/$defs/three"}], "$defs": lists}

        normal = normalise(schema, arguments=False).normal
        assert admits(normal, [[[], []]])
        assert not admits(normal, [])
        assert not admits(normal, [[[], [], []]])

    def test_without_an_end_are_left_out(self):
        endless = {"type": "object", "properties": {"x": {"$ref": "#/$defs/e"}}, "required": ["x"]}
        schema = {"properties": {"a": {"anyOf": [{"$ref": "#/$defs/e"}, {"type": "null"}]}}, "$defs": {"e": endless}}

        assert node(schema) == Object((Property("a", Constants((None,))),))

    def test_stand_alone_up_to_draft_7(self):
        schema = {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/s", "minLength": 5}

        assert node({**schema, "definitions": {"s": {"type": "string"}}}) == String()


class TestFindings:
    def test_name_each_keyword_with_its_pointer_in_the_clients_spelling(self):
        schema = {
            "type": "object",
            "properties": {
                "a/b": {"type": "array", "items": [{"type": "null"}], "additionalItems": False, "x-note": 1}
            },
            "dependencies": {"c": {"required": ["d"]}},
            "additionalProperties": True,
        }

        assert [(finding.path, finding.keyword) for finding in normalise(schema).findings] == [
            ("/type", "type"),
            ("/properties", "properties"),
            ("/dependencies", "dependencies"),
            ("/additionalProperties", "additionalProperties"),
            ("/properties/a~1b/type", "type"),
            ("/properties/a~1b/items", "items"),
            ("/properties/a~1b/additionalItems", "additionalItems"),
            ("/properties/a~1b/x-note", "x-note"),
            ("/properties/a~1b/items/0/type", "type"),
            ("/dependencies/c/required", "required"),
        ]

    def test_keep_the_rest_of_a_schema_that_cannot_be_enforced_whole(self):
        found = normalise({"properties": {"a": {"type": "string", "pattern": "(?<=x)", "maxLength": 3}}})

        assert [finding.path for finding in found.relaxed] == ["/properties/a/pattern"]
        assert found.normal.root == Object((Property("a", String(0, 3)),))

    def test_say_that_a_contrary_is_narrowed_where_a_part_of_it_cannot_be_told(self):
        found = normalise({"not": {"type": "string", "pattern": "(?<=x)"}}, arguments=False)

        assert {finding.path: finding.level for finding in found.findings}["/not/pattern"] == "narrowed"
        assert not admits(found.normal, "y")

    def test_say_that_a_contrary_of_which_nothing_is_left_cannot_be_enforced(self):
        schema = {"type": "string", "not": {"pattern": "(?<=x)"}}

        assert [finding.path for finding in normalise(schema, arguments=False).relaxed] == ["/not"]
        assert node(schema) == String()


class TestShapes:
    @pytest.mark.parametrize(
        ("schema", "said"),
        [
            ([], "a schema (an object, true or false) is wanted, not list"),
            ({"properties": []}, "/properties: an object of schemas is wanted, not list"),
            ({"properties": {"a": None}}, "/properties/a: a schema (an object, true or false) is wanted, not NoneType"),
            (
                {"properties": {"a": {"type": []}}},
                "/properties/a/type: a type, or an array of types is wanted, not list",
            ),
            ({"required": "a"}, "/required: an array is wanted, not str"),
            ({"required": [1]}, "/required: an array of names is wanted, not list"),
            ({"anyOf": {}}, "/anyOf: an array of schemas is wanted, not dict"),
            ({"anyOf": []}, "/anyOf: at least one schema is wanted"),
            ({"properties": {"a": {"minLength": -1}}}, "/properties/a/minLength: a count is wanted, not -1"),
            ({"properties": {"a": {"minLength": "1"}}}, "/properties/a/minLength: a number is wanted, not str"),
            ({"properties": {"a": {"multipleOf": 0}}}, "/properties/a/multipleOf: a number above 0 is wanted, not 0"),
            ({"properties": {"a": {"pattern": 1}}}, "/properties/a/pattern: a string is wanted, not int"),
            ({"properties": {"a": {"uniqueItems": 1}}}, "/properties/a/uniqueItems: true or false is wanted, not int"),
            ({"dependentRequired": []}, "/dependentRequired: an object of arrays of names is wanted, not list"),
            ({"dependencies": 1}, "/dependencies: an object of schemas or arrays of names is wanted, not int"),
        ],
    )
    def test_what_is_no_schema_is_refused_with_its_place(self, schema, said):
        with pytest.raises(GrammarError) as refused:
            normalise(schema)
        assert str(refused.value) == said

    def test_null_is_as_good_as_absent(self):
        null = {"type": "object", "properties": {"a": {"type": "string", "enum": None}}, "required": None}

        assert normalise(null) == normalise({"type": "object", "properties": {"a": {"type": "string"}}})

    def test_what_is_referred_to_is_checked_wherever_it_is(self):
        with pytest.raises(GrammarError, match=r"^/x-parts/a/type: 'thing' is no type of JSON"):
            normalise({"properties": {"a": {"$ref": "#/x-parts/a"}}, "x-parts": {"a": {"type": "thing"}}})

    @pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 100_000])
    def test_deep_schemas_are_refused(self, depth):
        schema = {}
        for _ in range(depth):
            schema = {"items": schema}
        with pytest.raises(GrammarError, match=f"{MAX_DEPTH} levels of schemas"):
            normalise(schema)


class TestBounds:
    @pytest.mark.parametrize(
        "schema",
        [
            {"allOf": [{"anyOf": [{"required": [f"a{n}"]}, {"required": [f"b{n}"]}]} for n in range(40)]},
            {"not": {"enum": [[n, {"a": n}] for n in range(1000)]}},
            {
                "oneOf": [
                    {"properties": {f"p{m}_{n}": {"type": "null"} for n in range(20)}, "required": [f"p{m}_0"]}
                    for m in range(200)
                ]
            },
        ],
        ids=["products", "contraries", "differences"],
    )
    def test_what_would_take_too_long_is_refused(self, schema):
        with pytest.raises(GrammarError, match="steps to work out"):
            normalise(schema)

    def test_what_is_shared_by_many_alternatives_is_written_once(self):
        schema = {"type": "string"}
        for _ in range(30):
            members = {"x": schema, **{f"r{n}": {} for n in range(8)}}
            schema = {"type": "object", "properties": members, "anyOf": [{"required": [f"r{n}"]} for n in range(8)]}

        assert len(str(normalise(schema).normal)) < 200_000

    def test_patterns_that_overlap_in_too_many_ways_are_reported(self):
        patterns = {f"{chr(97 + n)}.*{chr(99 + n)}": {"type": "null"} for n in range(20)}

        found = normalise({"type": "object", "patternProperties": patterns})
        assert [finding.path for finding in found.relaxed] == ["/patternProperties"]


class TestPatternsThatValidatorsReadDifferently:
    """``\\d`` has ten digits in ECMA-262, and those of all scripts in Python."""

    def test_admit_what_all_of_them_take(self):
        normal = normalise({"type": "string", "pattern": r"^\d$"}, arguments=False).normal

        assert admits(normal, "7")
        assert not admits(normal, "\u0667")

    def test_exclude_what_one_of_them_takes(self):
        normal = normalise({"type": "string", "not": {"pattern": r"^\d$"}}, arguments=False).normal

        assert admits(normal, "x")
        assert not admits(normal, "\u0667")

    def test_hold_of_members_if_one_of_them_says_so(self):
        schema = {"properties": {"\u0667": {}}, "patternProperties": {r"^\d$": {"type": "null"}}}

        assert node(schema).properties == (Property("\u0667", Constants((None,))),)
