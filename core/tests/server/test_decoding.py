from __future__ import annotations

import threading

import pytest
from msgspec import Struct

from toolglot.containers import MAX_CONTAINERS
from toolglot.errors import RequestError
from toolglot.server.decoding import MAX_DEPTH, convert, decode_object, decoded


class Inner(Struct):
    name: str


class Outer(Struct):
    items: list[Inner]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": 1' + b"0" * 5000 + b"}",
        b'{"a": "\xff"}',
        b'{"a": "\\ud800"}',
        b'{"a": "\\udc00 low first"}',
        b'{"a": 1} {}',
        b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}",
        b'{"a":[' + b"[]," * MAX_CONTAINERS + b"0]}",
    ],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_no_usable_object_is_refused(body):
    with pytest.raises(RequestError, match="body"):
        decode_object(body)


def test_a_body_may_nest_up_to_the_limit():
    depth = MAX_DEPTH - 1
    assert decode_object(b'{"a":' + b"[" * depth + b"]" * depth + b"}").keys() == {"a"}


def test_a_body_may_hold_many_values_and_any_text():
    body = b'{"numbers": [' + b"0," * (3 * MAX_CONTAINERS) + b'0], "text": "' + rb"[{\"" * MAX_CONTAINERS + b'"}'
    assert len(decode_object(body)["numbers"]) == 3 * MAX_CONTAINERS + 1


@pytest.mark.parametrize("size", [10, 200_000])
async def test_a_large_body_is_read_in_a_thread(size):
    thread = await decoded(b" " * size, lambda body: (len(body), threading.current_thread()))
    assert thread[0] == size
    assert (thread[1] is threading.main_thread()) == (size == 10)


@pytest.mark.parametrize(
    ("value", "param"),
    [
        ({}, "items"),
        ({"items": 1}, "items"),
        ({"items": [{}]}, "items[0].name"),
        ({"items": [{"name": "a"}, {"name": 1}]}, "items[1].name"),
    ],
)
def test_an_error_names_the_field(value, param):
    with pytest.raises(RequestError, match=r"missing|expected") as caught:
        convert(value, Outer)
    assert caught.value.param == param
    assert param in str(caught.value)
