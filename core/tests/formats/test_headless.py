"""Calls without an opener of their own: their header begins a part of the turn, and shows that it is a call."""

from __future__ import annotations

import pytest

from toolglot import Call, Parser
from toolglot.formats import (
    Calls,
    ElementCall,
    Frame,
    HeadedCall,
    JsonCall,
    Reasoning,
    WireFormat,
    WireFormatParser,
)

BLOCKS = WireFormat(
    calls=(Calls(HeadedCall(("{name}<|call|>",), JsonCall(space="")), Frame(close=("<|end|>",))),),
    reasoning=Reasoning(Frame(("<|think|>",), ("<|end|>",))),
    content=Frame(("<|text|>",), ("<|end|>",)),
    between="<|next|>",
)
MAILS = WireFormat(
    calls=(
        Calls(
            ElementCall(" to={recipient}<|message|><call {name:attr}>", "<arg {key:attr}>{value}</arg>"),
            Frame(close=("</call>",)),
            separator="<|more|>",
        ),
    ),
    content=Frame((" to=user<|message|>",), ("<|more|>",)),
    between="<|next|>",
)
PARSERS = {"blocks": Parser("blocks", WireFormatParser(BLOCKS)), "mails": Parser("mails", WireFormatParser(MAILS))}
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]
F, G = 'f<|call|>{"name":"f","arguments":{"a": 1}}<|end|>', 'g<|call|>{"name":"g","arguments":{}}<|end|>'


def summary(message):
    calls = [(call.name, call.arguments, call.outcome, call.rest) for call in message.tool_calls]
    return message.content, message.reasoning, calls, message.unparsed


@pytest.fixture
def read():
    def read(text, family="blocks", reason="stop", **context):
        parser = PARSERS[family]
        whole = parser.parse(text, tools=TOOLS, finish_reason=reason, **context)
        for size in (1, 2, 3, 7):
            stream = parser.stream(tools=TOOLS, **context)
            for at in range(0, len(text), size):
                stream.feed(text[at : at + size])
            stream.finish(reason)
            assert summary(stream.message) == summary(whole)
        return whole

    return read


def outline(message):
    return message.content, message.reasoning, [call.name for call in message.tool_calls]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (F, (None, None, ["f"])),
        (f"\n{F}", (None, None, ["f"])),
        (f"<|next|>{F}<|next|> {G}", (None, None, ["f", "g"])),
        (f"<|think|>Hm.<|end|><|next|>{F}", (None, "Hm.", ["f"])),
        (f"<|think|>Hm.<|end|>{F}", (None, "Hm.", ["f"])),
        (f"<|text|>Sure.<|end|><|next|>{F}", ("Sure.", None, ["f"])),
        (f"Sure.<|next|>{F}", ("Sure.", None, ["f"])),
        (f"{F}<|next|><|text|>Done.<|end|>", ("Done.", None, ["f"])),
        ("<|text|>f<|end|>", ("f", None, [])),
    ],
)
def test_a_header_begins_a_call_where_a_part_of_the_turn_begins(read, text, want):
    assert outline(read(text)) == want


def test_behind_reasoning_that_the_prompt_opened(read):
    assert outline(read(f"Hm.<|end|><|next|>{F}", reasoning_open=True)) == (None, "Hm.", ["f"])


@pytest.mark.parametrize("text", ["I call f<|call|>{}", "f<|call|>oops", "hello", "f", "f<|cal"])
def test_elsewhere_and_without_a_call_behind_it_is_text(read, text):
    assert outline(read(text)) == (text, None, [])


def test_only_what_may_be_a_header_is_held_back():
    stream = PARSERS["blocks"].stream(tools=TOOLS)

    assert stream.feed("get_we") == []
    assert [event.text for event in stream.feed(" is")] == ["get_we is"]


def test_the_name_in_the_call_counts_and_another_in_the_header_is_rest(read):
    (call,) = read(F.replace('"f"', '"g"')).tool_calls

    assert (call.name, call.rest) == ("g", "f")


def test_a_call_that_is_cut_behind_its_header_has_its_name(read):
    (call,) = read("f<|call|>", reason="length").tool_calls

    assert (call.name, call.arguments, call.outcome) == ("f", "", "truncated")


def test_a_recipient_that_is_no_tool_is_no_call(read):
    assert outline(read(" to=user<|message|>Hi", "mails")) == ("Hi", None, [])
    assert outline(read(" to=me<|message|>Hi", "mails")) == (" to=me<|message|>Hi", None, [])


def test_both_are_written_as_they_are_read(read):
    calls = [Call("", "f", '{"a": "1"}'), Call("", "g", "{}")]

    assert PARSERS["blocks"].render(calls[1:]) == G
    assert PARSERS["mails"].render(calls) == (
        ' to=f<|message|><call "f"><arg "a">1</arg></call><|more|><|next|> to=g<|message|><call "g"></call>'
    )
    for family, parser in PARSERS.items():
        found = read(parser.render(calls), family, constrained=True).tool_calls
        assert [(call.name, call.arguments, call.outcome) for call in found] == [
            ("f", '{"a": "1"}', "ok"),
            ("g", "{}", "ok"),
        ]


def test_where_no_call_may_be_a_header_is_text(read):
    assert outline(read(F, tool_choice="none")) == (F.removesuffix("<|end|>"), None, [])
