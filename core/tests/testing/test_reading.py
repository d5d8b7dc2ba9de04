"""Events: what every sequence of them must keep."""

from __future__ import annotations

import logging

import pytest

from toolglot import ArgumentsDelta, CallEnd, CallStart, ContentDelta, ReasoningDelta
from toolglot.testing.reading import check, delivered, errors_raised, merged

START, MORE, END = CallStart(0, "call_1", "f"), ArgumentsDelta(0, "{}"), CallEnd(0, "ok")


@pytest.mark.parametrize(
    "events",
    [
        [ContentDelta("")],
        [ReasoningDelta("")],
        [START, ArgumentsDelta(0, ""), END],
        [START, MORE],
        [MORE],
        [END],
        [START, MORE, END, END],
        [START, ContentDelta("a"), END],
        [START, START, END, END],
        [CallStart(1, "call_1", "f"), CallEnd(1, "ok")],
        [START, ArgumentsDelta(1, "{}"), END],
        [CallStart(0, "", "f"), END],
        [CallStart(0, "call_1", ""), END],
    ],
)
def test_bad_sequences(events):
    with pytest.raises(AssertionError):
        check(events)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [ReasoningDelta("a"), ContentDelta("b"), START, MORE, END, ContentDelta("c")],
        [START, END, CallStart(1, "call_2", "f"), ArgumentsDelta(1, "{"), ArgumentsDelta(1, "}"), CallEnd(1, "ok")],
    ],
)
def test_good_sequences(events):
    check(events)


def test_merging_joins_neighbours_of_one_kind_and_drops_ids():
    events = [
        ReasoningDelta("a"), ReasoningDelta("b"), ContentDelta("c"), ContentDelta("d", unparsed=True),
        ContentDelta("e", unparsed=True), START, ArgumentsDelta(0, "{"), ArgumentsDelta(0, "}"), END,
    ]  # fmt: skip

    assert merged(events) == [
        ReasoningDelta("ab"),
        ContentDelta("c"),
        ContentDelta("de", unparsed=True),
        CallStart(0, "", "f"),
        MORE,
        END,
    ]
    assert delivered(events) == 7


def test_logged_errors_are_raised():
    with errors_raised(), pytest.raises(AssertionError, match="it broke"):
        logging.getLogger("toolglot.parser").error("it broke")
    logging.getLogger("toolglot.parser").error("not raised any more")
