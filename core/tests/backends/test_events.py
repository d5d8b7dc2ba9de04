"""Events of any portions, and tokens of text of any portions."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolglot.backends import events
from toolglot.backends.byte_tokenizer import byte_tokenizer
from toolglot.backends.events import EventReader
from toolglot.backends.faults import ReplicaError
from toolglot.backends.text_tokens import TextTokens, TokenStream
from toolglot.tokens import Detokenizer

STREAM = b'data: {"a": 1}\r\n\r\n: comment\n\ndata:[DONE]\n\nevent: x\nid: 5\nerror: {"b": 2}\n\n\ndata: {"c"'


def portions(cuts, whole):
    places = sorted({0, len(whole), *(cut % len(whole) for cut in cuts)})
    return [whole[start:end] for start, end in pairwise(places)]


@given(st.lists(st.integers(0, 200), max_size=20))
def test_events_are_the_same_in_any_portions(cuts):
    reader = EventReader()
    found = [event for part in portions(cuts, STREAM) for event in reader.feed(part)]
    assert found == [b'{"a": 1}', b"[DONE]", b'{"b": 2}']
    assert reader.within


def test_a_line_without_an_end_is_given_up(monkeypatch):
    monkeypatch.setattr(events, "_MOST", 10)
    reader = EventReader()
    assert reader.feed(b"data: 789") == []
    with pytest.raises(ReplicaError, match="more than 10 bytes"):
        reader.feed(b"12")


TOKENIZER = byte_tokenizer(None)
TOKENIZER.add_tokens(["<tool_call>", "<tool", "[x]"], special_tokens=True)
TOKENS = TextTokens(TOKENIZER)


@given(st.text("<tol_ca>[x]é😀 ", max_size=30), st.lists(st.integers(0, 200), max_size=9))
def test_tokens_of_text_are_that_text_in_any_portions(text, cuts):
    stream = TokenStream(TOKENS)
    parts = portions(cuts, text) if text else []
    ids = [token for part in parts for token in stream.feed(part)]
    ids += stream.finish()
    assert Detokenizer(TOKENIZER).feed(ids).text == text
    assert ids == list(TOKENS.encode(text))


def test_what_spells_an_added_token_is_it():
    ids = TOKENIZER.convert_tokens_to_ids(["<tool_call>", "<tool"])
    stream = TokenStream(TOKENS)
    assert stream.feed("<tool_c") == ()
    assert stream.feed("all>") == (ids[0],)
    assert stream.feed("<tool_") == ()
    assert stream.finish()[0] == ids[1]


def test_the_longest_tokens_are_taken():
    class Tokenizer:
        token_table = None

    table = type("Table", (), {"texts": (b"a", b"ab", b"abc", b"c"), "added": frozenset()})
    Tokenizer.token_table = table
    Tokenizer.added_tokens_decoder = {}
    tokens = TextTokens(Tokenizer())
    assert list(tokens.encode("ababcc")) == [1, 2, 3]
    with pytest.raises(ReplicaError, match="no token"):
        list(tokens.encode("d"))
