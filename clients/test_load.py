"""The measurement of ``clients.load``, in short; and that it would see what it looks for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clients.load import Found, failures, faults, measure, report, words
from clients.sse import Piece

CONTENT, ARGUMENTS = words(7, "w"), json.dumps({"text": words(7, "a")})


def test_many_streams_lose_nothing_and_leave_nothing() -> None:
    found = measure(streams=200, seconds=5, delay=0.05)
    assert set(failures(found)) <= {"memory"}, report(found)  # of which seconds are too few to say whether it stays
    assert found.replies >= 200


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


def found(**fields: Any) -> Found:
    well = {"replies": 3, "left": 1, "added": [0.001, 0.003, 0.002], "memory": [50, 100, 100, 102, 101, 109]}
    return Found(**{**well, **fields})


@pytest.mark.parametrize(
    ("fields", "failed"),
    [
        ({}, []),
        ({"faults": ["one"]}, ["words"]),
        ({"replies": 0, "added": []}, ["words"]),
        ({"memory": [50, 100, 100, 102, 105, 112]}, ["memory"]),
        ({"running": 1}, ["work"]),
        ({"left": 0}, ["work"]),
    ],
)
def test_whatever_should_not_be_is_a_failure(fields: dict[str, Any], failed: list[str]) -> None:
    assert failures(found(**fields)) == failed
    assert report(found(**fields)).count("FAILED") == len(failed)


def test_what_is_added_to_a_delta_is_told() -> None:
    assert "p50 2.00 ms, p99 2.00 ms, at most 3.00 ms" in report(found())
