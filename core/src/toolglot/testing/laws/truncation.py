"""Truncation: an output that is cut anywhere is read as far as it got, and nothing in it is completed."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from toolglot.events import Message
from toolglot.formats.layout import distinct
from toolglot.testing.cases import Case
from toolglot.testing.checks import accounted, cut, whole
from toolglot.testing.laws.suite import Suite, law_of
from toolglot.testing.markers import canonical
from toolglot.testing.turns import Turn

_CUTS = 500
"""At how many places a case is cut, at most."""
_CUTS_OF_A_TURN = 30


class Truncation(Suite):
    """The output ended because of a limit."""

    def test_truncated_cases(self, case: Case) -> None:
        """Cases."""
        sample = self.subject.sample(case.raw_output, case.request)
        calls = whole(sample).tool_calls
        for end in range(0, len(case.raw_output), 1 + len(case.raw_output) // _CUTS):
            found = whole(cut(sample, end)).tool_calls
            for got, want in zip(found, calls, strict=False):
                assert got.name == want.name
                assert want.arguments.startswith(got.arguments), f"completed: {case.raw_output[:end]!r}"

    @law_of(50)
    def test_truncated_turns(self, random: Random, size: int) -> None:
        """Whole calls stay whole, the call that is cut is truncated, none is taken back, and nothing is lost."""
        turn = self.subject.turn(random, size)
        sample = self.subject.sample(turn.text, self.subject.request_for(turn.calls))
        counts = []
        places = range(len(turn.text) + 1)
        ends = {*random.sample(places, min(len(places), _CUTS_OF_A_TURN)), *(last - 1 for _, last in turn.spans)}
        for end in sorted(ends):
            accounted(self.subject.markers, cut(sample, end))
            message = whole(cut(sample, end))
            self._check(turn, end, message)
            counts.append(len(message.tool_calls))
        assert all(before <= after for before, after in pairwise(counts)), f"a call was taken back: {counts}"

    @property
    def _framed(self) -> bool:
        """Whether a call may be whole although something that belongs to it is still to come."""
        markers = self.subject.markers
        longer = any(one != other and one.startswith(other) for one in markers.closers for other in markers.closers)
        return markers.unclosed or markers.sections or longer

    def _check(self, turn: Turn, end: int, message: Message) -> None:
        text = turn.text[:end]
        done = sum(last <= end for _, last in turn.spans)
        almost = sum(last <= end + 1 for _, last in turn.spans)
        begun = sum(first < end for first, _ in turn.spans)
        assert almost <= len(message.tool_calls) <= begun, text
        outcomes = [call.outcome for call in message.tool_calls]
        assert outcomes[:done] == ["ok"] * done, text
        assert set(outcomes[done:]) <= ({"ok", "truncated"} if self._framed else {"truncated"}), text
        for got, want in zip(message.tool_calls, turn.calls, strict=False):
            assert got.name == want.name, text
            if self.verbatim:
                assert want.arguments.startswith(got.arguments), text
            if got.outcome == "ok":
                assert self.arguments(got.arguments) == self.arguments(want.arguments), text
        openers = tuple(canonical(opener) for opener in self.subject.markers.openers if distinct(opener))
        if begun > done and text[turn.spans[done][0] :] in openers:
            assert not (message.content or "").endswith(openers), f"an opener is content: {text!r}"
