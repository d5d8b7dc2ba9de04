"""Who is held to what: strict tools, levels, content that is JSON; and the formats whose calls begin as text could."""

from __future__ import annotations

import json
from functools import cache

import pytest
from msgspec.structs import replace

from toolglot import Call
from toolglot.errors import GrammarError
from toolglot.formats import (
    Calls,
    ElementCall,
    Frame,
    HeadedCall,
    JsonCall,
    Map,
    PythonCall,
    Reasoning,
    WireFormat,
    WireFormatParser,
)
from toolglot.requests import Named, Request, Tool

pytest.importorskip("xgrammar")
pytest.importorskip("torch")

from toolglot.testing.sampling import Sampler, vocabulary

CALL = Frame(("<call>",), ("</call>",))
FORMS = {
    "json": WireFormat((Calls(JsonCall(), call=CALL),)),
    "elements": WireFormat((Calls(ElementCall("{name}\n", "<p={key}>{value}</p>\n"), call=CALL),)),
    "python": WireFormat((Calls(PythonCall(), section=Frame(("<calls>[",), ("]</calls>",)), separator=", "),)),
    "map": WireFormat((Calls(HeadedCall(("call:{name}",), Map("<q>")), call=CALL),)),
    "bare json": WireFormat((Calls(JsonCall(), section=Frame(("",)), separator="; "),)),
    "bare list": WireFormat((Calls(PythonCall(), section=Frame(("[",), ("]",)), separator=", "),), begins="start"),
    "answers": WireFormat(
        (Calls(JsonCall(), call=CALL),),
        Reasoning(Frame(("<think>",), ("</think>",))),
        Frame(("<answer>",), ("</answer>",)),
    ),
}  # fmt: skip
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
PLAIN = Tool("f", None, NUMBER)
STRICT, FREE = replace(PLAIN, strict=True), replace(PLAIN, strict=False)
GOOD, BAD = '{"n": 1}', '{"n": "x"}'


@cache
def sampler():
    return Sampler(vocabulary(("Hello", '{"name": "f"'), ()), ())


def admits(form, text, **fields):
    tag = WireFormatParser(FORMS[form]).get_structural_tag(Request(**fields))
    return tag is None or sampler().admits(tag, text)


def call(name, arguments):
    return f'<call>{{"name": "{name}", "arguments": {arguments}}}</call>'


@pytest.mark.parametrize(
    ("tool", "fields", "wrong_type", "wrong_name"),
    [
        (PLAIN, {}, True, True),
        (STRICT, {}, False, False),
        (FREE, {}, True, True),
        (PLAIN, {"strict_level": "function"}, True, False),
        (FREE, {"strict_level": "function"}, True, False),
        (STRICT, {"strict_level": "function"}, False, False),
        (PLAIN, {"strict_level": "parameter"}, False, False),
        (FREE, {"strict_level": "parameter"}, False, False),
        (PLAIN, {"tool_choice": "required"}, False, False),
        (FREE, {"tool_choice": "required"}, False, False),
        (FREE, {"tool_choice": Named("f")}, False, False),
    ],
)
def test_levels(tool, fields, wrong_type, wrong_name):
    assert admits("json", call("f", GOOD), tools=(tool,), **fields)
    assert admits("json", call("f", BAD), tools=(tool,), **fields) is wrong_type
    assert admits("json", call("g", GOOD), tools=(tool,), **fields) is wrong_name


def test_strict_tools_and_others_mix():
    tools = (STRICT, Tool("g", None, NUMBER), Tool("h", None, {"type": "strange"}))

    assert admits("json", "Sure. " + call("f", GOOD) + call("g", BAD) + call("h", '{"any": []}'), tools=tools)
    assert not admits("json", call("f", BAD), tools=tools)
    assert not admits("json", call("g", "[]"), tools=tools)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "schema", [{"properties": {"a": {"items": {"type": "string"}, "uniqueItems": True}}}, {"type": 1}]
)
def test_what_cannot_be_held_to_is_refused_and_names_the_tool(form, schema):
    parser = WireFormatParser(FORMS[form])
    request = Request(tools=(PLAIN, Tool("g", None, schema, strict=True)))

    with pytest.raises(GrammarError, match=r"tool 'g'.*/") as refused:
        parser.get_structural_tag(request)
    assert refused.value.param == "tools[1].function.parameters"


def test_a_name_that_cannot_be_written_is_refused():
    tools = (PLAIN, Tool("a b", None, NUMBER, strict=True))

    with pytest.raises(GrammarError, match="'a b' cannot be called in this format") as refused:
        WireFormatParser(FORMS["python"]).get_structural_tag(Request(tools=tools))
    assert refused.value.param == "tools[1].function.name"


def test_members_in_any_order_where_that_is_asked_for():
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "null"}}, "required": ["a", "b"]}
    for strict in (None, True):
        fields = {"tools": (Tool("f", None, schema, strict),), "tool_choice": "required", "any_property_order": True}
        assert admits("json", call("f", '{"b": null, "a": 1}'), **fields) is not strict
        assert admits("python", "<calls>[f(b=None, a=1)]</calls>", **fields) is not strict
        assert admits("elements", "<call>f\n<p=b>null</p>\n<p=a>1</p>\n</call>", **fields) is not strict
        assert admits("map", "<call>call:f{b:null,a:1}</call>", **fields) is not strict


# calls that begin as text could


@pytest.mark.parametrize(
    ("form", "text", "fits"),
    [
        ("bare json", '{"name": "f", "arguments": {"n": 1}}', True),
        ("bare json", '{"name": "f", "arguments": {"n": 1}}; {"name": "f", "arguments": {"n": 2}}', True),
        ("bare json", 'Sure: {"name": "f", "arguments": {"n": 1}}', True),
        ("bare json", '{"name": "Ada"}', True),
        ("bare json", "{x} [1]", True),
        ("bare json", "", True),
        ("bare json", '{"name": "f", "arguments": {"n": "x"}}', False),
        ("bare json", 'Sure: {"name": "f", "arguments": {"n": "x"}}', False),
        ("bare json", '{"name": "f"}', False),
        ("bare list", "[f(n=1)]", True),
        ("bare list", "[f(n=1), f(n=2)]", True),
        ("bare list", "[1] Hello [g(n=1)]", True),
        ("bare list", '[f(n="x")]', False),
        ("bare list", "Sure: [f(n=1)]", False),  # where it would be no call
    ],
)
def test_formats_whose_calls_begin_as_text_could_are_held_to_their_schemas_too(form, text, fits):
    assert admits(form, text, tools=(STRICT,)) is fits
    assert admits(form, text, tools=(PLAIN,))


# content that is JSON


ANSWER = {"type": "object", "properties": {"name": {"enum": ["f", "<call>"]}}, "required": ["name"]}


@pytest.mark.parametrize("form", FORMS)
def test_content_that_is_json(form):
    fields = {"content_schema": ANSWER}

    assert admits(form, '{ "name": "f"}', **fields)
    for text in ("Hello", "{}", '{ "name": "g"}', '{ "name": "f"} x'):
        assert not admits(form, text, **fields)
        assert not admits(form, text, tools=(PLAIN,), tool_choice="none", **fields)


@pytest.mark.parametrize("form", FORMS)
def test_content_that_is_json_or_calls(form):
    parser = WireFormatParser(FORMS[form])
    request = Request(tools=(PLAIN,), content_schema=ANSWER, constrained=True, strict_level="parameter")
    tag = parser.get_structural_tag(request)
    written = parser.render([Call("", "f", GOOD)], tools=(PLAIN,))

    assert sampler().admits(tag, '{ "name": "f"}')
    assert sampler().admits(tag, written)
    for text in ("Hello", f"Hello {written}", f'{written}{{ "name": "f"}}', '{ "name": "g"}'):
        assert not sampler().admits(tag, text)


def test_required_calls_leave_no_room_for_content():
    fields = {"tools": (PLAIN,), "tool_choice": "required", "content_schema": ANSWER}

    assert admits("json", call("f", GOOD), **fields)
    assert not admits("json", '{"name": "f"}', **fields)


def test_content_that_is_json_stands_in_the_frame_of_answers_and_behind_reasoning():
    fields = {"content_schema": True, "tools": (PLAIN,)}

    assert admits("answers", "<think>Hm.</think>\n<answer>[1, null]</answer>", **fields)
    assert admits("answers", "<think>Hm.</think>\n[1, null]", **fields)
    assert not admits("answers", "<answer>Hello</answer>", **fields)
    assert admits("answers", json.dumps("a <b"), **fields)
    assert not admits("answers", json.dumps("a <call> b"), **fields)


def test_a_content_schema_that_is_none_is_refused():
    with pytest.raises(GrammarError, match="/type") as refused:
        WireFormatParser(FORMS["json"]).get_structural_tag(Request(content_schema={"type": 1}))
    assert refused.value.param == "response_format"
