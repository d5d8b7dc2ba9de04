"""What the grammars of Python calls and of maps admit: what validates, written canonically, and nothing else."""

from __future__ import annotations

import itertools
import json
from functools import cache

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolglot import Call, Parser
from toolglot.errors import GrammarError
from toolglot.formats import Calls, Frame, HeadedCall, Map, PythonCall, WireFormat, WireFormatParser
from toolglot.grammar import Compiler
from toolglot.testing.sampling import Sampler, vocabulary
from toolglot.vocabulary import added_tokens

FORMS = {
    "python": Calls(PythonCall(), section=Frame(("<calls>[",), ("]</calls>",)), separator=", "),
    "json": Calls(PythonCall("json"), section=Frame(("<calls>\n",), ("\n</calls>",)), separator="\n"),
    "strings": Calls(HeadedCall(("call:{name}",), Map('<|"|>')), call=Frame(("<call>",), ("</call>",))),
    "all": Calls(HeadedCall(("call:{name}",), Map("<escape>", "all")), call=Frame(("<call>",), ("</call>",))),
}
MARKERS = ("<calls>", "</calls>", "<call>", "</call>", '<|"|>', "<escape>")
TEXTS = (
    "get_weather(city=",
    'call:get_weather{city:<|"|>Oslo',
    '"}]</calls>\n',
    "<escape>, true",
    "é東京🚀",
    "None, False",
)
KINDS = [(name, tokens) for name in FORMS for tokens in (False, True)]


@cache
def parser_of(name: str, tokens: bool) -> Parser:
    tokenizer = vocabulary(TEXTS, MARKERS if tokens else ())
    return Parser(name, WireFormatParser(WireFormat((FORMS[name],))).configured(tokenizer))


@cache
def compiler(tokens: bool):
    tokenizer = vocabulary(TEXTS, MARKERS if tokens else ())
    stop = added_tokens(tokenizer)["<|stop|>"]
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    return tokenizer, stop, Compiler(tokenizer, vocab_size=size, stop_token_ids=[stop])


def tool(schema, name="f"):
    return {"type": "function", "function": {"name": name, "strict": True, "parameters": schema}}


def named(name="f"):
    return {"type": "function", "function": {"name": name}}


def admits(kind, schema, texts):
    """Which of the texts, as a call of ``f``, the grammar admits."""
    name, tokens = kind
    tag = parser_of(name, tokens).structural_tag([tool(schema)], named(), may_reason=False)
    tokenizer, stop, compile_ = compiler(tokens)
    compiled = compile_.compile(tag)
    found = []
    for text in texts:
        matcher = compiled.matcher()
        ids = [*tokenizer.encode(text, add_special_tokens=False).ids, stop]
        found.append(all(matcher.accept(number) for number in ids))
    return found


def written(kind, arguments, schema):
    """The canonical text of a call."""
    text = json.dumps(arguments, ensure_ascii=False)
    return parser_of(*kind).render([Call("", "f", text)], tools=[tool(schema)])


def admitted(kind, schema, values):
    """Which arguments the grammar admits, written canonically."""
    return admits(kind, schema, [written(kind, value, schema) for value in values])


def of_object(required=(), **properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_that_are_not_declared_are_as_many_as_there_must_be(kind):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "minProperties": 3, "additionalProperties": {}}

    assert admitted(kind, schema, [{"a": "x", "b": 1, "z": 2}, {"a": "x", "b": 1}]) == [True, False]


# values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string"}, ["", "x", 'a "b" \\ é\n', "[1]"], [1, None, True, [], {}]),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a", "abcd"]),
        ({"enum": ["c", 'f"', 3, None, True]}, ["c", 'f"', 3, None, True], ["x", 4, False]),
        ({"enum": ["c", 3], "type": "string"}, ["c"], [3]),
        ({"const": {"k": [1, "x"]}}, [{"k": [1, "x"]}], [{"k": [1]}, 1]),
        ({"type": "integer", "minimum": 3, "maximum": 12}, [3, 12], [2, 13, 3.5, True]),
        ({"type": "number"}, [1, -2.5, 1e20], [True, None]),
        ({"type": "boolean"}, [True, False], [None, 0]),
        ({"type": "null"}, [None], [False, 0]),
        ({"type": ["integer", "null"]}, [3, None], [False, [3]]),
        ({"type": "integer", "nullable": True}, [3, None], [False]),
        ({"anyOf": [{"type": "boolean"}, {"type": "integer", "maximum": 3}]}, [True, 3], [4, None]),
        ({"type": "array", "items": {"type": "integer"}}, [[], [1], [1, 2, 3]], [[True], [[1]], 1]),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2}, [[True], [True, False]],
         [[], [True, True, True]]),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}]},
         [[1, None], [1], [], [1, None, "x"]], [[1, 2], [None]]),
        ({"type": "array", "items": [{"type": "integer"}], "additionalItems": {"type": "null"}},
         [[], [1], [1, None]], [[1, 2], [None]]),
        ({"type": "array"}, [[], [1, None, [True]]], [1]),
        (of_object(["b"], a={"type": "integer"}, b={"type": "null"}), [{"b": None}, {"a": 1, "b": None}],
         [{}, {"a": 1}, {"b": None, "c": 1}]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [{}, {"x": 1}, {"x": 1, "y": 2}],
         [{"x": True}]),
        ({"type": "object", "properties": {}, "additionalProperties": False}, [{}], [{"x": 1}]),
        ({"allOf": [{"type": ["integer", "null"]}, {"minimum": 2}, {"type": "number", "maximum": 5}]},
         [2, 5], [1, 6, None]),
        ({"allOf": [{"enum": [1, 2, None]}, {"enum": [2, None, "x"]}]}, [2, None], [1, "x"]),
        ({"$ref": "#/$defs/tree"}, [True, [], [True, [False]]], [1, [1]]),
        ({"type": "dict", "properties": {"x": {"type": "float"}}, "required": ["x"]}, [{"x": 1.5}], [{}, {"x": None}]),
    ],
)  # fmt: skip
def test_values(kind, schema, good, bad):
    tree = {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"$ref": "#/$defs/tree"}}]}
    schema = {**of_object(["x"], x=schema), "$defs": {"tree": tree}}
    free = {"type": "object"}  # so that bad values can be written at all
    texts = [written(kind, {"x": value}, schema) for value in good]

    assert admits(kind, schema, texts) == [True] * len(good)
    if kind[0] != "all":  # there how a value is written depends on the schema
        assert admits(kind, schema, [written(kind, {"x": value}, free) for value in bad]) == [False] * len(bad)


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, ["@3@"], ["3", "@x@", "@3", "@true@"]),
        ({"type": "string"}, ["@3@", "@@", "@a}b@"], ["3", '"3"']),
        ({"type": ["string", "boolean"]}, ["@x@", "@true@"], ["true"]),
        ({"type": "array", "items": {"type": "string"}}, ['@["a", "b"]@', "@[]@"],
         ["[@a@]", '@["a"@', "@[1]@", '@["<escape>"]@']),
    ],
)  # fmt: skip
def test_values_that_all_stand_in_quotes(tokens, schema, good, bad):
    texts = [f"<call>call:f{{x:{value.replace('@', '<escape>')}}}</call>" for value in good + bad]
    expected = [True] * len(good) + [False] * len(bad)

    assert admits(("all", tokens), of_object(["x"], x=schema), texts) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("required", [(), ("b",), ("a", "c"), ("d",)])
def test_properties_come_in_their_order_and_only_required_ones_must(kind, required):
    schema = of_object(required, **{key: {"type": "integer"} for key in "abcd"})
    subsets = [set(keys) for size in range(5) for keys in itertools.combinations("abcd", size)]
    values = [{key: 1 for key in "abcd" if key in keys} for keys in subsets]

    assert admitted(kind, schema, values) == [keys.issuperset(required) for keys in subsets]
    assert admitted(kind, schema, [{"b": 1, "a": 1, "c": 1, "d": 1}]) == [False]


@pytest.mark.parametrize("kind", KINDS)
def test_many_optional_properties_stay_small(kind):
    schema = of_object(**{f"k{number}": {"type": "boolean"} for number in range(120)})

    assert admitted(kind, schema, [{}, {"k0": True, "k119": False}, {"k60": True}]) == [True] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_open_objects(kind):
    for schema in ({"type": "object"}, {"type": "object", "additionalProperties": True}):
        assert admitted(kind, schema, [{}, {"x": 1}, {"x": ["a", {"y": None}], "z": False}]) == [True] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_several_calls_and_no_other_tool(kind):
    name, tokens = kind
    parser = parser_of(name, tokens)
    tools = [tool(of_object(a={"type": "integer"}), "one"), tool(of_object(), "one_more")]
    calls = [Call("", "one", '{"a": 1}'), Call("", "one_more", "{}")]
    tokenizer, stop, compile_ = compiler(tokens)
    compiled = compile_.compile(parser.structural_tag(tools, "required", may_reason=False))

    def fits(text):
        matcher = compiled.matcher()
        return all(matcher.accept(number) for number in [*tokenizer.encode(text, add_special_tokens=False).ids, stop])

    assert fits(parser.render(calls, tools=tools))
    assert fits(parser.render(calls[1:], tools=tools))
    assert not fits(parser.render([Call("", "on", "{}")]))
    assert not fits("")


# schemas that cannot be


@pytest.mark.parametrize("kind", [("python", False), ("all", False)])
@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "#/$defs/none"}, "points at nothing"),
        (False, "admits no"),
        ({"allOf": [{"type": "integer"}, {"type": "null"}]}, "admits no"),
        ({"type": "object", "properties": {"a": {"$ref": "#/properties/x"}}, "required": ["a"]}, "admits no"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "admits no"),
        ({"type": "array", "prefixItems": [{"type": "integer"}, False], "minItems": 2}, "admits no"),
    ],
)
def test_a_schema_without_values_is_refused(kind, schema, message):
    with pytest.raises(GrammarError, match=message):
        parser_of(*kind).structural_tag([tool(of_object(["x"], x=schema))], named())


def test_what_needs_a_value_that_cannot_be_is_left_out():
    schema = of_object(x=False, y={"type": "integer"}, z={"type": "array", "items": False})

    assert admitted(("python", False), schema, [{"y": 1}, {"z": []}, {"x": 1}, {"z": [1]}]) == [
        True,
        True,
        False,
        False,
    ]


def test_a_schema_with_many_alternatives_stays_small():
    schema = {"type": "null"}
    for _ in range(4):
        schema = {"anyOf": [{"type": "array", "items": schema}] * 3}

    assert admitted(("python", False), of_object(x=schema), [{"x": [[[[None]]]]}, {"x": [[None]]}]) == [True, False]


def test_a_keyword_that_cannot_be_written_is_left_out_or_refused():
    schema = {**of_object(**{"a b": {}, "c": {"type": "null"}})}

    assert admitted(("python", False), schema, [{"c": None}, {}]) == [True, True]
    with pytest.raises(GrammarError, match="required 'a b' cannot be written"):
        parser_of("python", False).structural_tag([tool({**schema, "required": ["a b"]})], named())


# what is sampled is read and validates


def strict_schemas():
    """Schemas of one value, of kinds that are enforced."""
    leaves = st.sampled_from([
        {"type": "string"}, {"type": "string", "minLength": 1, "maxLength": 4}, {"type": "integer", "minimum": -5},
        {"type": "number"}, {"type": "boolean"}, {"type": ["null", "integer"]}, {"enum": ["a", 'b"<escape>,', 2, None]},
        {"const": ['<|"|>}', {"a": True}]},
    ])  # fmt: skip
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda items: {"type": "array", "items": items, "maxItems": 2}, inner),
            st.builds(lambda one, other: {"anyOf": [one, other]}, inner, st.just({"type": "boolean"})),
            st.builds(lambda a, b: of_object(["a b"], **{"a b": a, "c": b}), inner, inner),
        ),
        max_leaves=3,
    )


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(schemas=st.lists(strict_schemas(), min_size=1, max_size=3), required=st.booleans())
def test_whatever_is_sampled_is_read_and_validates(kind, schemas, required):
    keys = ["x", "y", "z"][: len(schemas)]
    schema = of_object(keys if required else (), **dict(zip(keys, schemas, strict=True)))
    tools = [tool(schema), tool({"type": "object"}, "open")]
    parser = parser_of(*kind)
    tokenizer, _, _ = compiler(kind[1])
    for deltas in Sampler(tokenizer, MARKERS).outputs(parser.structural_tag(tools, "required", may_reason=False), 4):
        stream = parser.stream(tools=tools, constrained=True)
        for delta in deltas:
            stream.feed(delta.text, delta.token_ids, delta.marks)
        stream.finish()
        text = "".join(delta.text for delta in deltas)
        assert stream.message.content is None, text
        assert stream.message.tool_calls, text
        for call in stream.message.tool_calls:
            assert (call.outcome, call.repairs, call.rest) == ("ok", (), ""), text
            if call.name == "f":
                jsonschema.validate(json.loads(call.arguments), schema)
