"""Random outputs are what they are said to be."""

from __future__ import annotations

import json

from hypothesis import given

from toolglot import Call
from toolglot.formats import Calls, Frame, JsonCall, Reasoning, WireFormat
from toolglot.testing import strategies
from toolglot.testing.markers import Markers, matches
from toolglot.testing.turns import turns

FORM = WireFormat(
    (Calls(JsonCall(), call=Frame(("<call>~[\n", "<other>"), ("]</call>\n",)), separator="\n"),), Reasoning()
)
MARKERS = Markers.of(FORM)


def render(call: Call, seed: int) -> str:
    space = " " * (seed % 3)
    return f'<call>{space}[{{"name": "{call.name}", "arguments": {call.arguments}}}]</call>\n'


def test_markers_of_a_format():
    assert set(MARKERS.every) == {"<call>~[", "]</call>", "</think>", "<other>", "<think>"}
    assert MARKERS.openers == ("<call>~[", "<other>")
    assert MARKERS.closers == ("]</call>",)
    assert set(MARKERS.tokens) == {"<call>", "]</call>", "</think>", "<other>", "<think>"}
    assert [match.span() for match in matches("<call>~[", "<call>[ <call>\n [ <call>")] == [(0, 7), (8, 17)]


@given(strategies.json_objects(MARKERS))
def test_json_objects_are_json_objects(text):
    assert isinstance(json.loads(text), dict)


@given(strategies.words(MARKERS))
def test_words_hold_no_marker(text):
    assert not MARKERS.found(text)


@given(turns(FORM, render))
def test_turns_know_what_is_in_them(turn):
    assert len(turn.calls) == len(turn.spans)
    for call, (start, end) in zip(turn.calls, turn.spans, strict=True):
        assert call.arguments in turn.text[start:end]
        assert turn.text[start:end].startswith("<call>")
        assert turn.text[start:end].endswith("</call>")
    assert all(char in turn.text for char in turn.content + turn.reasoning)
