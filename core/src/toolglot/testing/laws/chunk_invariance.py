"""L1 and L2: any split of an output, and the whole of it, read the same."""

from __future__ import annotations

from random import Random

from toolglot.testing import hostile
from toolglot.testing.cases import Case
from toolglot.testing.checks import same_at_every_chunking
from toolglot.testing.laws.suite import HOSTILE_CUT, Suite, law_of


class ChunkInvariance(Suite):
    """Messages, and the deltas of each channel in order, do not depend on how the output arrives."""

    def test_l1_l2_cases(self, case: Case) -> None:
        """Cases."""
        same_at_every_chunking(self.subject.sample(case.raw_output, case.request, case.finish_reason))

    @law_of(100)
    def test_l1_l2_turns(self, random: Random, size: int) -> None:
        """Calls in prose, as text and with markers as tokens."""
        turn = self.subject.turn(random, size)
        same_at_every_chunking(self.subject.sample(turn.text, self.subject.request_for(turn.calls)), most=0)
        same_at_every_chunking(self.subject.token_sample(turn.text, self.subject.request_for(turn.calls)), most=0)

    @law_of(100)
    def test_l1_l2_mangled(self, random: Random, size: int) -> None:
        """Mangled outputs, in whichever way the request reads them."""
        text, request = self.subject.mangled(random, size), self.subject.request(random, size)
        writer = self.subject.writer(random, size)
        finish = writer.finish()
        same_at_every_chunking(self.subject.sample(text, request, finish), most=0)
        tokens = self.subject.token_sample(text, request, finish, spelled=writer.spelled())
        same_at_every_chunking(tokens, most=0)

    def test_l1_l2_hostile(self) -> None:
        """Hostile texts."""
        request = self.subject.common
        for label, text in hostile.texts(self.subject.markers, self.subject.example):
            same_at_every_chunking(self.subject.sample(text, request, "stop"), label, most=HOSTILE_CUT)
            same_at_every_chunking(self.subject.sample(text, request, "length"), label, most=HOSTILE_CUT)
