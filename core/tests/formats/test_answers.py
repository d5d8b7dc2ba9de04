"""Markers around plain answers: where they are markers, and where they are text of the answer."""

from __future__ import annotations

import pytest

from toolglot import Parser, Tool
from toolglot.formats import Calls, Frame, JsonCall, Reasoning, WireFormat, WireFormatParser

FORM = WireFormat(
    calls=(Calls(JsonCall(), call=Frame(("<call>",), ("</call>",))),),
    reasoning=Reasoning(Frame(("<think>",), ("</think>",))),
    content=Frame(("<answer>\n", "Bot: "), ("\n</answer>", "")),
)
CALL = '<call>{"name": "f", "arguments": {}}</call>'
TOOLS = [{"type": "function", "function": {"name": "f"}}]


def content(text):
    parser = Parser("answers", WireFormatParser(FORM))
    whole = parser.parse(text, tools=TOOLS)
    stream = parser.stream(tools=TOOLS)
    for char in text:
        stream.feed(char)
    stream.finish()
    assert stream.message.content == whole.content
    return whole.content


@pytest.mark.parametrize(
    "text",
    [
        "<answer>\n42\n</answer>",
        "<answer>42</answer>\n",
        "<think>Hm.</think>\n<answer>\n42\n</answer>",
        "Bot: 42",
        f"{CALL}\nBot: 42",
        "42\n</answer>",  # the prompt opened it
    ],
)
def test_markers_around_an_answer_are_no_part_of_it(text):
    assert content(text) == "42"


@pytest.mark.parametrize(
    "text",
    [
        "Write <answer>42</answer> here.",
        "You: hi\nBot: hello\nYou: bye\nBot: bye",
        "In <answer> a <answer> b </answer> c </answer> d",
    ],
)
def test_markers_in_an_answer_are_text(text):
    assert content(text) == text
    assert content(f"<answer>\n{text}\n</answer>") == text
    assert content(f"Bot: {text}") == text


@pytest.mark.parametrize(
    "text", ["42", "<answer>\n42\n</answer>", f"Sure. {CALL}", f"<answer>\nSure.\n</answer>{CALL}", CALL]
)
@pytest.mark.parametrize("tokens", [(), ("<answer>", "</answer>", "<call>", "</call>")])
def test_an_answer_or_calls_or_both_are_admitted(text, tokens):
    pytest.importorskip("xgrammar")
    sampling = pytest.importorskip("toolglot.testing.sampling")
    tokenizer = sampling.vocabulary([text], tokens)
    parser = Parser("answers", WireFormatParser(FORM, tokenizer=tokenizer))

    tag = parser.structural_tag(tools=[Tool("f", strict=True)])

    assert sampling.Sampler(tokenizer, tokens).admits(tag, text)
