"""Dialects that begin with the same marker, and calls whose closer is a brace."""

from __future__ import annotations

import json

import pytest

from toolglot import Call, Parser
from toolglot.formats import Calls, ElementCall, Frame, HeadedCall, JsonCall, WireFormat, WireFormatParser

TOOLS = [{"type": "function", "function": {"name": "f"}}]
FRAME = Frame(("<call>\n",), ("\n</call>",))
JSON = Calls(JsonCall(), FRAME)
ELEMENTS = Calls(ElementCall("{name}\n", "<key>{key}</key>\n<value>{value}</value>\n"), FRAME)
AS_JSON = '<call>\n{"name": "f", "arguments": {"a": "1"}}\n</call>'
AS_ELEMENTS = "<call>f\n<key>a</key>\n<value>1</value>\n</call>"


def read(form, text, reason="stop"):
    parser = Parser("toy", WireFormatParser(form))
    whole = parser.parse(text, tools=TOOLS, finish_reason=reason)
    stream = parser.stream(tools=TOOLS)
    for char in text:
        stream.feed(char)
    stream.finish(reason)
    assert summary(stream.message) == summary(whole)
    return whole


def summary(message):
    calls = [(call.name, call.arguments, call.outcome, call.repairs) for call in message.tool_calls]
    return message.content, calls


@pytest.mark.parametrize("form", [WireFormat((JSON, ELEMENTS)), WireFormat((ELEMENTS, JSON))])
def test_dialects_that_share_an_opener_are_told_apart_by_what_follows(form):
    message = read(form, f"Two: {AS_JSON}{AS_ELEMENTS}")

    assert summary(message) == ("Two:", [("f", '{"a": "1"}', "ok", ())] * 2)


@pytest.mark.parametrize("form", [WireFormat((JSON, ELEMENTS)), WireFormat((ELEMENTS, JSON))])
@pytest.mark.parametrize("rest", ["", "\n", "{", '{"name', "f", "f x", "[1]"])
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_what_is_of_neither_is_content(form, rest, reason):
    message = read(form, f"Hm. <call>{rest}", reason)

    assert not message.tool_calls
    assert message.content in (f"Hm. <call>{rest}", "Hm.", "Hm. ")


KEYED = WireFormat(
    (
        Calls(
            HeadedCall(('"{name}"~: ',)),
            call=Frame(("{",), ("}",)),
            section=Frame(("<calls>[",), ("]</calls>", "]")),
            separator=", ",
        ),
    )
)


def test_a_call_can_be_an_object_with_the_name_as_its_key():
    calls = [Call("", "f", '{"a": {}}'), Call("", "f", "{}")]
    text = Parser("toy", WireFormatParser(KEYED)).render(calls)

    assert text == '<calls>[{"f": {"a": {}}}, {"f": {}}]</calls>'
    assert json.loads(text.removeprefix("<calls>").removesuffix("</calls>"))
    assert summary(read(KEYED, text)) == (None, [("f", '{"a": {}}', "ok", ()), ("f", "{}", "ok", ())])


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        ('<calls>[{"f": {"a": 1}}]</calls>', ()),
        ('<calls>[{"f": {"a": 1}]</calls>', ("missing_closer",)),
        ('<calls>[ {\n"f" : {"a": 1} }\n]', ()),
    ],
)
def test_the_brace_that_closes_it(text, repairs):
    assert summary(read(KEYED, text)) == (None, [("f", '{"a": 1}', "ok", repairs)])


@pytest.mark.parametrize("template", ["{name}\n", "{name}~", "{name}"])
def test_half_a_name_is_no_name(template):
    form = WireFormat((Calls(ElementCall(template, "<key>{key}</key>\n<value>{value}</value>\n"), FRAME),))

    assert summary(read(form, "<call>get_wea", "length")) == ("<call>get_wea", [])
    assert summary(read(form, "<call>f\n<key>", "length")) == (None, [("f", "", "truncated", ())])


NAMED, TYPED = "{name}<sep>", "function<sep>{name}\n```json\n"


@pytest.mark.parametrize("heads", [(NAMED, TYPED), (TYPED, NAMED)])
def test_of_two_heads_the_longer_is_read(heads):
    form = WireFormat((Calls(HeadedCall(heads), Frame(("<call>",), ("</call>", "\n```</call>"))),))
    typed = '<call>function<sep>f\n```json\n{"a": 1}\n```</call>'

    message = read(form, f'{typed}<call>f<sep>{{"a": 1}}</call><call>function<sep>{{"a": 1}}</call>')

    assert [call.name for call in message.tool_calls] == ["f", "f", "function"]
    assert all(call.arguments == '{"a": 1}' and not call.repairs for call in message.tool_calls)


def test_a_call_that_one_dialect_cannot_express_is_varied_in_the_others():
    parser = Parser("toy", WireFormatParser(WireFormat((JSON, ELEMENTS))))
    call = Call("", "f", '{"": 1}')

    for seed in range(20):
        (got,) = parser.parse(parser.render([call], vary=seed), tools=TOOLS).tool_calls
        assert json.loads(got.arguments) == {"": 1}
