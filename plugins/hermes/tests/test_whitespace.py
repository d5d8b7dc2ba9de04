"""Framing whitespace, sentence by sentence of the rule; all other whitespace is content."""

from __future__ import annotations

import pytest

from toolglot import ContentDelta

CALL = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
SPACES = ("", " ", "\n", "\n\n", " \t\r\n ")


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "shape",
    [
        "{space}{call}",
        "{call}{space}",
        "{call}{space}{call}",
        "<think>a</think>{space}{call}",
        "<think></think>{space}",
    ],
)
def test_between_markers_and_at_the_edges_it_is_framing(read, shape, space):
    assert read(shape.format(call=CALL, space=space)).content is None


@pytest.mark.parametrize("space", SPACES)
def test_inside_and_just_after_a_fence_it_is_framing(read, space):
    message = read(f"<think>{space}one\n\ntwo{space}</think>{space}Hello")

    assert (message.reasoning, message.content) == ("one\n\ntwo", "Hello")


@pytest.mark.parametrize("space", SPACES)
def test_inside_a_fence_that_the_prompt_opened_it_is_framing(read, space):
    message = read(f"{space}one{space}</think>{space}Hello", reasoning_open=True)

    assert (message.reasoning, message.content) == ("one", "Hello")


@pytest.mark.parametrize("space", SPACES)
def test_before_a_call_it_is_framing(read, space):
    assert read(f"Sure.{space}{CALL}").content == "Sure."


def test_before_what_turns_out_to_be_no_call_it_is_content(read):
    assert read("Sure. <tool_call>oops").content == "Sure. <tool_call>oops"
    assert read('Sure.\n<tool_call>{"name": 1}').content == 'Sure.\n<tool_call>{"name": 1}'


@pytest.mark.parametrize("space", SPACES[1:])
def test_after_a_call_it_is_content(read, space):
    assert read(f"{CALL}{space}Done.").content == f"{space}Done."
    assert read(f"{CALL}{space}Done.{space}").content == f"{space}Done.{space}"


@pytest.mark.parametrize("text", [" ", "\n\n", "  Hello", "Hello \n", "one\n\n  two"])
def test_without_a_marker_it_is_content(read, text):
    assert read(text).content == text


def test_other_whitespace_than_json_s_is_always_content(read):
    assert read(f"Sure.\u00a0{CALL}\u2003").content == "Sure.\u00a0\u2003"


def test_it_is_held_until_it_is_known(parser, tools):
    stream = parser.stream(tools=tools)

    assert stream.feed("Sure. \n") == [ContentDelta("Sure.")]
    assert stream.feed(" ") == []
    assert stream.feed("Well") == [ContentDelta(" \n Well")]
    assert stream.feed(". <") == [ContentDelta(".")]
    assert stream.feed("b>") == [ContentDelta(" <b>")]
    assert stream.feed(" \n") == []
    assert stream.finish() == [ContentDelta(" \n")]
