"""Output that was written under the grammar is read exactly: leniency would open a hole in strictness."""

from __future__ import annotations

import pytest

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


@pytest.fixture
def exact(read):
    return lambda text, **context: read(text, constrained=True, **context)


@pytest.mark.parametrize("before", ["", "Sure.\n", "<think>\nHm.\n</think>\n\n", "<think>Hm.</think>"])
@pytest.mark.parametrize("after", ["", "\n", " \n", "\n" + CALL])
def test_what_the_grammar_writes_is_read(exact, before, after):
    message = exact(before + CALL + after)

    assert {(call.name, call.arguments, call.outcome, call.repairs) for call in message.tool_calls} == {
        ("f", '{"a": 1}', "ok", ())
    }
    assert message.content == ("Sure." if before == "Sure.\n" else None)
    assert message.reasoning == ("Hm." if "Hm." in before else None)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>',
        '<tool_call>\n{"name":"f","arguments":{"a": 1}}\n</tool_call>',
        '<tool_call>\n{"name": "f", "parameters": {"a": 1}}\n</tool_call>',
        '<tool_call>\n{"arguments": {"a": 1}, "name": "f"}\n</tool_call>',
        '<tool_call>\n {"name": "f", "arguments": {"a": 1}}\n</tool_call>',
        '<tool_call>\n{"type": "function", "name": "f", "arguments": {"a": 1}}\n</tool_call>',
    ],
)
def test_what_it_cannot_write_is_no_call(exact, text):
    message = exact(text)

    assert (message.content, message.tool_calls) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        CALL.removesuffix("</tool_call>"),
        CALL.replace("}\n", "}}\n"),
        CALL.replace("}\n", "}"),
        CALL.replace("}}", "}"),
        CALL.replace('{"a": 1}', '"{}"'),
        CALL.replace('{"a": 1}', "null"),
        CALL.replace("}}", '}, "x": 1}'),
    ],
)
def test_nothing_is_repaired(exact, text):
    (call,) = exact(text).tool_calls

    assert (call.outcome, call.repairs) == ("malformed", ())


@pytest.mark.parametrize("end", range(1, len(CALL)))
def test_it_may_be_cut_anywhere(exact, end):
    message = exact(CALL[:end], finish_reason="length")

    assert all(call.outcome == "truncated" for call in message.tool_calls)
    assert bool(message.tool_calls) == (end >= CALL.index('"f"') + 3)
