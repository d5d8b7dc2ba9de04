"""Outputs in pieces: every piece once, and marker tokens whole."""

from __future__ import annotations

from random import Random

import pytest

from toolglot import Delta, Output
from toolglot.testing import chunking

TOKENS = {"<a>": 5, "</a>": 6}
BOUND = chunking.with_tokens("x<a>y</a><a>", TOKENS, spelled=[1])


def test_markers_become_tokens_unless_they_are_only_spelled():
    assert BOUND.marks == ((1, 5), (9, 5))


def test_a_token_is_not_cut():
    assert chunking.cuts(BOUND, TOKENS) == [1, 4, 5, 6, 7, 8, 9]
    assert chunking.cuts(Output("abc"), {}) == [1, 2]


def test_pieces_carry_their_marks_and_always_token_ids():
    assert list(chunking.deltas(BOUND, [1, 5])) == [
        Delta("x", (0,)),
        Delta("<a>y", (0, 5), ((0, 5),)),
        Delta("</a><a>", (0, 5), ((4, 5),)),
    ]


def test_text_has_no_token_ids():
    assert list(chunking.deltas(Output("abc"), [2])) == [Delta("ab"), Delta("c")]


@pytest.mark.parametrize("output", [Output(""), Output("a"), Output("Hello <a> there" * 9), BOUND])
def test_every_chunking_is_the_whole_output(output):
    places = chunking.cuts(output, TOKENS)

    for cut in chunking.every(places, Random(0), 100):
        assert "".join(delta.text for delta in chunking.deltas(output, cut)) == output.text


def test_every_chunking_of_a_kind():
    found = list(chunking.every(range(1, 9), Random(0), 100))

    assert found[0] == []
    assert found[1] == list(range(1, 9))
    assert found[3] == [3, 6]
    assert all([place] in found for place in range(1, 9))


def test_words_are_pieces_as_of_a_tokenizer():
    text = " Hello   understanding\n"
    pieces = [delta.text for delta in chunking.deltas(Output(text), chunking.words(text))]

    assert pieces == [" Hello", "   unders", "tandin", "g", "\n"]
