"""An output that a limit cut: delivered as far as it got, never completed, never dropped."""

from __future__ import annotations

import pytest

TEXT = 'Sure. <tool_call>\n{"name": "f", "arguments": {"a": "\\u00e9", "b": [1]}}\n</tool_call> Bye'
ARGUMENTS = '{"a": "\\u00e9", "b": [1]}'
OPENED, NAMED = TEXT.index("\n{"), TEXT.index('"f"') + 3
ARGUED, CLOSED = TEXT.index(ARGUMENTS) + 1, TEXT.index("</tool_call>") + len("</tool_call>")


@pytest.mark.parametrize("end", range(len("Sure. <"), OPENED))
def test_half_an_opener_is_content(read, end):
    message = read(TEXT[:end], finish_reason="length")

    assert (message.content, message.tool_calls) == (TEXT[:end], ())


@pytest.mark.parametrize("end", [OPENED, OPENED + 1])
def test_an_opener_at_the_cut_is_a_marker(read, end):
    message = read(TEXT[:end], finish_reason="length")

    assert ((message.content or "").strip(), message.tool_calls) == ("Sure.", ())


@pytest.mark.parametrize("end", range(OPENED + 2, NAMED))
def test_a_call_without_a_name_is_content(read, end):
    message = read(TEXT[:end], finish_reason="length")

    assert (message.content, message.tool_calls, message.unparsed) == (TEXT[:end], (), True)


@pytest.mark.parametrize("end", range(NAMED, ARGUED))
def test_a_call_with_a_name_is_a_call(read, end):
    message = read(TEXT[:end], finish_reason="length")

    assert [(call.name, call.arguments, call.outcome) for call in message.tool_calls] == [("f", "", "truncated")]
    assert message.content == "Sure."


@pytest.mark.parametrize("end", range(ARGUED, CLOSED))
def test_a_call_is_delivered_as_far_as_it_got(read, end):
    message = read(TEXT[:end], finish_reason="length")
    (call,) = message.tool_calls

    assert (call.name, call.outcome, call.repairs) == ("f", "truncated", ())
    assert call.arguments == ARGUMENTS[: end - ARGUED + 1]
    assert message.content == "Sure."


@pytest.mark.parametrize("end", range(CLOSED, len(TEXT) + 1))
def test_a_call_that_is_whole_is_not_truncated(read, end):
    message = read(TEXT[:end], finish_reason="length")

    assert [(call.arguments, call.outcome) for call in message.tool_calls] == [(ARGUMENTS, "ok")]


@pytest.mark.parametrize("finish", ["length", "abort"])
def test_an_aborted_output_is_cut_too(read, finish):
    (call,) = read(TEXT[: ARGUED + 3], finish_reason=finish).tool_calls

    assert call.outcome == "truncated"


def test_an_output_that_the_model_ended_is_not_truncated_but_malformed(read):
    (call,) = read('<tool_call>{"name": "f", "arguments": {"days": 3').tool_calls

    assert (call.arguments, call.outcome) == ('{"days": 3', "malformed")


def test_arguments_before_the_name_are_delivered_once_the_name_is_known(read):
    text = '<tool_call>{"arguments": {"a": 1}, "name": "f"'

    assert read(text[:-1], finish_reason="length").content == text[:-1]
    (call,) = read(text, finish_reason="length").tool_calls
    assert (call.arguments, call.outcome) == ('{"a": 1}', "truncated")


@pytest.mark.parametrize("half", ["\\", "\\u", "\\u00", "\\ud83d", "\\ud83d\\", "\\ud83d\\ude"])
def test_half_an_escape_of_string_arguments_is_not_delivered(read, half):
    (call,) = read(f'<tool_call>{{"name": "f", "arguments": "{{\\"a\\": \\"x{half}', finish_reason="length").tool_calls

    assert (call.arguments, call.outcome) == ('{"a": "x', "truncated")


@pytest.mark.parametrize("scalar", ["12", "nul", "tru"])
def test_scalar_arguments_are_not_lost(read, scalar):
    (call,) = read(f'<tool_call>{{"name": "f", "arguments": {scalar}', finish_reason="length").tool_calls

    assert scalar in call.arguments + call.rest
    assert call.outcome == "truncated"


@pytest.mark.parametrize("end", range(1, len("</tool_call>")))
def test_half_a_closer_is_no_content(read, end):
    message = read(TEXT[: TEXT.index("</tool_call>") + end], finish_reason="length")

    assert message.content == "Sure."
    assert message.tool_calls[0].rest.strip() == "</tool_call>"[:end]
