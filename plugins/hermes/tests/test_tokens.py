"""Markers that are tokens of the vocabulary: only the token is the marker, and only where a marker can be."""

from __future__ import annotations

import pytest

from toolglot import ContentDelta, Output, Request, load_parser

OPEN, CLOSE, WORD = 1, 2, 7
TOKENS = {"<tool_call>": OPEN, "</tool_call>": CLOSE}
BODY = '{"name": "f", "arguments": {}}'


@pytest.fixture(scope="module")
def bound():
    return load_parser("hermes", tokenizer=TOKENS)


@pytest.fixture(scope="module")
def read_pieces(bound, tools):
    """Reads (text, token id) pieces one by one and as a whole, which must be the same."""

    def read(*pieces):
        stream = bound.stream(tools=tools)
        text, marks = "", []
        for piece, token in pieces:
            mine = [(0, token)] if token in TOKENS.values() else []
            marks += [(len(text), token)] if mine else []
            text += piece
            stream.feed(piece, [token], mine)
        stream.finish()
        ids = tuple(token for _, token in pieces)
        whole = bound.read(Output(text, ids, tuple(marks)), Request(tools=tuple(tools)))
        assert [call.arguments for call in whole.tool_calls] == [call.arguments for call in stream.message.tool_calls]
        assert whole.content == stream.message.content
        return whole

    return read


def test_the_ids_of_markers(bound):
    assert bound.marker_ids == {OPEN, CLOSE}
    assert load_parser("hermes").marker_ids == frozenset()


def test_tokens_are_markers(read_pieces):
    message = read_pieces(("Sure.", WORD), ("<tool_call>", OPEN), (f"\n{BODY}\n", WORD), ("</tool_call>", CLOSE))

    assert [call.name for call in message.tool_calls] == ["f"]
    assert message.content == "Sure."


def test_spelled_markers_are_content(read_pieces):
    message = read_pieces(("Write <tool_call>", WORD), (BODY, WORD), ("</tool_call>", WORD))

    assert (message.content, message.tool_calls) == (f"Write <tool_call>{BODY}</tool_call>", ())
    assert not message.unparsed


def test_spelled_markers_are_not_held_back(bound, tools):
    stream = bound.stream(tools=tools)

    assert stream.feed("a <tool_ca", [WORD]) == [ContentDelta("a <tool_ca")]


def test_a_spelled_closer_closes_nothing(read_pieces):
    message = read_pieces(("<tool_call>", OPEN), (f"{BODY}</tool_call>", WORD), ("</tool_call>", CLOSE))

    assert [call.name for call in message.tool_calls] == ["f"]
    assert message.tool_calls[0].outcome != "truncated"


@pytest.mark.parametrize(("marker", "token"), TOKENS.items())
def test_a_token_inside_a_json_string_is_data(read_pieces, marker, token):
    message = read_pieces(
        ("<tool_call>", OPEN),
        ('{"name": "f", "arguments": {"a": "x', WORD),
        (marker, token),
        ('y"}}', WORD),
        ("</tool_call>", CLOSE),
    )

    assert [call.arguments for call in message.tool_calls] == [f'{{"a": "x{marker}y"}}']
    assert message.tool_calls[0].outcome == "ok"
    assert message.content is None


def test_a_token_outside_a_string_ends_a_broken_call(read_pieces):
    message = read_pieces(
        ("<tool_call>", OPEN),
        ('{"name": "f", "arguments": {"a": [', WORD),
        ("</tool_call>", CLOSE),
        (" Well.", WORD),
    )

    assert [(call.arguments, call.outcome) for call in message.tool_calls] == [('{"a": [', "malformed")]
    assert message.content == " Well."


def test_a_token_that_is_no_marker_here_is_content(read_pieces):
    assert read_pieces(("a ", WORD), ("</tool_call>", CLOSE), (" b", WORD)).content == "a </tool_call> b"


def test_without_token_ids_text_is_matched(bound, tools):
    message = bound.parse(f"<tool_call>{BODY}</tool_call>", tools=tools)

    assert [call.name for call in message.tool_calls] == ["f"]


def test_marks_are_found_from_token_ids(bound, tools):
    text = f"<tool_call>{BODY}</tool_call>"

    assert len(bound.parse(text, tools=tools, token_ids=[OPEN, WORD, CLOSE]).tool_calls) == 1
    assert bound.parse(text, tools=tools, token_ids=[WORD] * 9).content == text


def test_a_private_code_unit_in_the_text_is_no_marker(read_pieces):
    message = read_pieces((f"\udc00{BODY}\udc01", WORD))

    assert message.tool_calls == ()
