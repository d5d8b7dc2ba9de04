"""The measurement of ``clients.load``, in short; and that it would see what it looks for."""

from __future__ import annotations

import json
from argparse import Namespace

import pytest

from clients.load import Found, faults, measure, report, words
from clients.sse import Piece

CONTENT, ARGUMENTS = words(7, "w"), json.dumps({"text": words(7, "a")})


def test_many_streams_lose_nothing_and_leave_nothing() -> None:
    text, well = measure(Namespace(streams=200, seconds=5, delay=0.05))
    assert " 0 faults" in text
    assert "no work is left" in text
    assert well or "grown by" in text  # seconds are too few to say whether memory stays


@pytest.mark.parametrize(
    ("content", "arguments", "wrong"),
    [
        (CONTENT, ARGUMENTS, 0),
        (CONTENT.replace("w007030 ", ""), ARGUMENTS, 1),
        (CONTENT.replace("w007030 w007031", "w007031 w007030"), ARGUMENTS, 1),
        (CONTENT.replace("w007030", "w008030"), ARGUMENTS, 1),
        (CONTENT, ARGUMENTS[:-1], 1),
        ("", "", 2),
    ],
)
def test_what_is_lost_or_changes_places_is_seen(content: str, arguments: str, wrong: int) -> None:
    pieces = [Piece(0, one, "") for one in content] + [Piece(0, "", one) for one in arguments]
    assert len(faults(7, pieces)) == wrong


def test_memory_that_grows_and_work_that_is_left_are_seen() -> None:
    flat = Found(added=[0.001], memory=[50, 100, 100, 102, 101, 109])
    assert report(flat, idle=True)[1]
    assert not report(flat, idle=False)[1]
    assert not report(Found(added=[0.001], memory=[50, 100, 100, 102, 105, 112]), idle=True)[1]
