"""Arguments as text become an object, whatever the text is."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolglot.server.messages.arguments import input_object

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)


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


@pytest.mark.parametrize("piece", ['{"a":', "[", '"k": 1, ', "\\n", '"'])
def test_long_texts_take_linear_time(piece):
    began = time.perf_counter()
    assert isinstance(input_object('{"a": [{"' + piece * 100_000)[0], dict)
    assert time.perf_counter() - began < 2


def _is_part(found, whole):
    if isinstance(found, dict):
        return isinstance(whole, dict) and all(key in whole and _is_part(found[key], whole[key]) for key in found)
    if isinstance(found, list):
        return isinstance(whole, list) and all(map(_is_part, found, whole))
    return found == whole
