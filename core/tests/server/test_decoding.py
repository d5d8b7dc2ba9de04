from __future__ import annotations

import pytest
from msgspec import Struct

from toolglot.errors import RequestError
from toolglot.server.decoding import MAX_DEPTH, convert, decode_object


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
    ],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_no_usable_object_is_refused(body):
    with pytest.raises(RequestError, match="body"):
        decode_object(body)


def test_a_body_may_nest_up_to_the_limit():
    depth = MAX_DEPTH - 1
    assert decode_object(b'{"a":' + b"[" * depth + b"]" * depth + b"}").keys() == {"a"}


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
