"""Random outputs are what they are said to be."""

from __future__ import annotations

import json
from random import Random

import pytest

from toolglot.formats import Calls, Frame, JsonCall, Reasoning, WireFormat
from toolglot.testing.markers import Markers, matches
from toolglot.testing.turns import turn
from toolglot.testing.writer import Writer

FORM = WireFormat(
    (Calls(JsonCall(), call=Frame(("<call>~[\n", "<other>"), ("]</call>\n",)), separator="\n"),), Reasoning()
)
MARKERS = Markers.of(FORM)
SEEDS = range(200)


def writer(seed):
    return Writer(Random(seed), seed % 6 + 1, MARKERS)


def written_call(writer):
    call = writer.call()
    space = " " * writer.random.randint(0, 3)
    return call, f'<call>{space}[{{"name": "{call.name}", "arguments": {call.arguments}}}]</call>\n'


def test_markers_of_a_format():
    assert set(MARKERS.every) == {"<call>~[", "]</call>", "</think>", "<other>", "<think>"}
    assert MARKERS.openers == ("<call>~[", "<other>")
    assert MARKERS.closers == ("]</call>",)
    assert set(MARKERS.tokens) == {"<call>", "</call>", "</think>", "<other>", "<think>"}
    assert [match.span() for match in matches("<call>~[", "<call>[ <call>\n [ <call>")] == [(0, 7), (8, 17)]


def test_one_seed_writes_one_thing():
    assert writer(7).json_object() == writer(7).json_object()
    assert writer(7).mangled(["abc"]) == writer(7).mangled(["abc"])


def test_arguments_are_json_objects_of_every_kind():
    texts = [writer(seed).json_object() for seed in SEEDS]

    assert all(isinstance(json.loads(text), dict) for text in texts)
    for part in ("\\u00e9", "<call>[", "1E400", "null", "{ }", "東", "\n", '\\"', "[[", "{}"):
        assert any(part in text for text in texts), part


def test_names_are_of_letters_digits_and_three_signs():
    names = [writer(seed).name() for seed in SEEDS]

    assert all(name.replace("_", "a").replace("-", "a").replace(".", "a").isalnum() for name in names)
    assert all(any(sign in name for name in names) for sign in "_-.")


def test_words_hold_no_marker_but_halves_of_them():
    texts = [writer(seed).words() for seed in SEEDS]

    assert not any(MARKERS.found(text) for text in texts)
    assert any("</thin" in text for text in texts)


def test_mangled_texts_hold_pieces_of_others():
    texts = [writer(seed).mangled(["one two three", '{"a": "b"}']) for seed in SEEDS]

    for part in ("one two three", '"b"', "<call>[", "<cal"):
        assert any(part in text for text in texts), part


@pytest.mark.parametrize("seed", SEEDS)
def test_turns_know_what_is_in_them(seed):
    source = writer(seed)
    found = turn(source, FORM, lambda: written_call(source))

    assert len(found.calls) == len(found.spans)
    for call, (start, end) in zip(found.calls, found.spans, strict=True):
        assert call.arguments in found.text[start:end]
        assert found.text[start:end].startswith("<call>")
        assert found.text[start:end].endswith("</call>")
    assert all(char in found.text for char in found.content + found.reasoning)
