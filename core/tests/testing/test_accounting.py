"""The account of law L3 closes when nothing is lost, and only then."""

from __future__ import annotations

import pytest

from toolglot import ArgumentsDelta, CallEnd, CallStart, ContentDelta, ReasoningDelta
from toolglot.testing.accounting import Account, texts
from toolglot.testing.markers import Markers

MARKERS = Markers(
    ("</call>", "<think>", "</think>", "<call>"),
    ("<call>",),
    ("</call>",),
    spaced=frozenset(),
    channels=("<think>", "</think>"),
    headers=(),
    separators=(),
    bare=False,
    sections=False,
    unclosed=False,
    verbatim=True,
)
CALL = '<call>{"name": "f", "arguments": {"a": 1}}</call>'


def said(text):
    return ContentDelta(text)


def called(arguments='{"a": 1}', outcome="ok", repairs=()):
    return [CallStart(0, "", "f"), ArgumentsDelta(0, arguments), CallEnd(0, outcome, repairs)]


@pytest.mark.parametrize(
    ("raw", "events"),
    [
        ("", []),
        ("Hello ", [said("Hello ")]),
        ("<think>a</think>b", [ReasoningDelta("a"), said("b")]),
        ("\n<think>\na\n</think>\n\nb", [ReasoningDelta("a"), said("b")]),
        (f"Sure. {CALL} Done", [said("Sure."), *called(), said(" Done")]),
        (f"{CALL}\n", called()),
        ("a </call> b", [said("a </call> b")]),
        ('<call>{"name": "f", "arguments": {"a"', called('{"a"', "truncated")),
        (CALL.removesuffix("</call>"), called(repairs=("missing_closer",))),
        (CALL.replace('{"a": 1}', "null"), called("{}", repairs=("null_arguments",))),
    ],
)
def test_it_closes(raw, events):
    assert Account(raw, MARKERS).holds(events)


@pytest.mark.parametrize(
    ("raw", "events"),
    [
        ("Hello ", [said("Hello")]),
        ("Hello", [said("Hello ")]),
        ("Hello", []),
        ("a <cal b", [said("a  b")]),
        ("a b", [said("ab")]),
        ("a </call> b", [said("a b")]),
        ("a <call>", [said("a ")]),
        ("a <call>oops", [said("a oops")]),
        ("a <call>oops", [said("a oops!")]),
        (f"Sure. {CALL} Done", [said("Sure."), *called(), said("Done")]),
        (f"Sure. {CALL} Done", [said("Sure."), *called()]),
        (f"Sure. {CALL}", called()),
        (CALL, called('{"a":1}')),
        (CALL.removesuffix("</call>"), called()),
        ("ab", [said("b"), said("a")]),
    ],
)
def test_it_does_not_close(raw, events):
    assert not Account(raw, MARKERS).holds(events)


def test_a_closer_may_come_late_after_a_call_without():
    events = [*called(repairs=("missing_closer",)), said(" and"), said(" on")]

    assert Account(CALL.replace("</call>", " and</call> on"), MARKERS).holds(events)


def test_an_opener_at_a_cut_is_a_marker():
    assert Account("a <call>\n<call> ", MARKERS, cut=True).holds([said("a")])
    assert not Account("a <call> b", MARKERS, cut=True).holds([said("a b")])


def test_every_text_of_events():
    events = [ReasoningDelta("a"), said("b"), CallStart(0, "x", "c"), ArgumentsDelta(0, "d"), CallEnd(0, "ok", (), "e")]

    assert texts(events) == ["a", "b", "x", "c", "d", "e"]
