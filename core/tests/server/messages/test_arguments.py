"""Arguments as text become an object, whatever the text is."""

from __future__ import annotations

import json
import time

import jiter
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolglot.server.messages.arguments import ArgumentsReader, input_object

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)


@st.composite
def faulty(draw):
    """An object's text, cut or with a piece of it exchanged for another."""
    text = json.dumps(draw(OBJECTS), ensure_ascii=draw(st.booleans()))
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 3)))
    noise = draw(st.text(alphabet='{}[],:" \\u\nde83-1.tnul', max_size=5))
    return text[:start] + noise + draw(st.sampled_from([text[end:], ""]))


def told(text, cuts=()):
    """What a client is sent of the text, fed in pieces."""
    reader = ArgumentsReader()
    ends = [*sorted(cuts), len(text)]
    pieces = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return [*map(reader.feed, pieces), reader.close()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 12,', {"a": 12}),
        ('{"a": 12', {}),  # it may be 123
        ('{"a": "x', {}),
        ('{"a": tru', {}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1, "b":', {"a": 1}),
        ('{"a": [1, {"b": null, "c": [tru', {"a": [1, {"b": None, "c": []}]}),
        ('{"a": {"b": [', {"a": {"b": []}}),
        ('{"a": Oslo}', {}),
        ('{"a": 1} x', {"a": 1}),
        ('{"a": 1]', {"a": 1}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1,}', {"a": [1]}),
        ('{"a" 1}', {}),
        ('{"a": 1 "b": 2}', {"a": 1}),
        ('{"a": 1, "b": "\\ud800", "c": 2}', {"a": 1}),
        ('{"a": 1, "b": 1e999, "c": 2}', {"a": 1}),
        ('{"a": 1, "b": "x\\udc00", "c": 2}', {"a": 1}),
        ('{"a": 1, "b": "x\\ud83d\\u0041", "c": 2}', {"a": 1}),
        ('{"a": 1, "b": NaN}', {"a": 1}),
        ('{"a": 1, "b": ' + "1" * 1001 + ", ", {"a": 1}),
        ('{"a": "x\ny"}', {}),
        ("{a: 1}", {}),
        ("[1, 2]", {}),
        ('"x"', {}),
        ("null", {}),
        ("]", {}),
        ("  ", {}),
    ],
)
def test_of_what_is_no_object_the_sound_part_is_taken(text, expected):
    assert input_object(text) == (expected, False)


def test_no_arguments_are_an_empty_object():
    assert input_object("") == ({}, True)


def test_a_lone_surrogate_is_replaced():
    assert input_object('{"a": "\ud800"}') == ({"a": "\N{REPLACEMENT CHARACTER}"}, True)


@given(OBJECTS)
def test_an_object_is_itself(value):
    assert input_object(json.dumps(value, ensure_ascii=False)) == (value, True)


@given(OBJECTS, st.data())
def test_a_cut_object_has_only_what_the_whole_has(value, data):
    text = json.dumps(value, ensure_ascii=False)
    found, is_whole = input_object(text[: data.draw(st.integers(1, len(text) - 1))])
    assert not is_whole
    assert _is_part(found, value)


@given(st.text(alphabet='{}[],:" \\ua1e-tnul'))
def test_nothing_raises(text):
    assert isinstance(input_object(text)[0], dict)


PIECES = ['{"a":', "[", '"k": 1, ', "\\n", '"', " ", "1", ",", "\\u00e6", "word"]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("begun", ['{"a": [{"', '{"a": ', "", '{"k": 1, "l": [2, "'])
def test_long_texts_take_linear_time(piece, begun):
    began = time.process_time()
    assert isinstance(input_object(begun + piece * 100_000)[0], dict)
    reader = ArgumentsReader()
    for one in [begun, *[piece] * 100_000]:
        reader.feed(one)
    assert time.process_time() - began < 10  # of quadratic time it would take minutes


def test_what_is_nested_deeper_than_clients_read_is_left_out():
    deep = '{"a": 1, "b": ' + "[" * 127 + "2" + "]" * 127 + "}"
    assert input_object(deep) == (json.loads(deep), True)
    found, is_whole = input_object(deep.replace("2", "[2]"))
    assert (found["a"], is_whole) == (1, False)
    assert jiter.from_json(json.dumps(found).encode()) == found


class TestPieces:
    """What a client is sent of arguments as they come."""

    @given(faulty(), st.data())
    @example('{"a": "x', None)
    @example('{"a": 1, "b": "\\ud83d', None)
    @example('  {"a": 12', None)
    @example("null", None)
    @example("", None)
    def test_a_client_makes_the_same_of_them_as_of_the_whole(self, text, data):
        cuts = range(len(text)) if data is None else data.draw(st.sets(st.integers(0, len(text))))
        pieces = told(text, cuts)
        sent = ""
        for piece in pieces:
            sent += piece
            assert isinstance(jiter.from_json(sent.encode(), partial_mode=True) if sent else {}, dict)
        whole = input_object(text)
        assert jiter.from_json(sent.encode(), partial_mode=True) == whole[0]
        assert input_object(sent)[0] == whole[0]
        assert sent == "".join(told(text))

    @given(OBJECTS, st.data())
    def test_an_object_comes_as_it_was_written(self, value, data):
        text = json.dumps(value)
        assert "".join(told(text, data.draw(st.sets(st.integers(0, len(text)))))) == text

    def test_text_comes_at_once_and_the_rest_when_it_is_sure(self):
        reader = ArgumentsReader()
        assert [reader.feed(piece) for piece in ('{"pa', 'th": ', '"a', "b\\", 'n"', ', "n": 1', "2", "}")] == [
            "{",
            "",
            '"path": "a',
            "b",
            '\\n"',
            "",
            "",
            ', "n": 12}',
        ]

    @pytest.mark.parametrize(
        ("text", "pieces"),
        [
            ("", ["", "{}"]),
            ("[1]", ["", "{}"]),
            ('{"a": [1, tru', ['{"a": [1', "]}"]),
            ('{"a": [1, true]] {', ['{"a": [1, true]', "}"]),
            ('{"a": {"b": 1, "c": x}}', ['{"a": {"b": 1', "}}"]),
            ('{"a": 1, "b": "cut', ['{"a": 1, "b": "cut', ""]),
            ('{"a": 1} and more', ['{"a": 1} ', ""]),
        ],
    )
    def test_after_a_fault_comes_no_more_than_what_closes(self, text, pieces):
        assert told(text) == pieces


def _is_part(found, whole):
    if isinstance(found, dict):
        return isinstance(whole, dict) and all(key in whole and _is_part(found[key], whole[key]) for key in found)
    if isinstance(found, list):
        return isinstance(whole, list) and all(map(_is_part, found, whole))
    return found == whole
