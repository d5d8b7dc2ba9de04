"""L3: every character ends up somewhere."""

from __future__ import annotations

from random import Random

import pytest

from toolglot.events import Message
from toolglot.requests import Output, Request
from toolglot.testing.checks import accounted, whole
from toolglot.testing.laws.suite import Suite, law_of
from toolglot.testing.subject import offered


class NothingLost(Suite):
    """What is not content, reasoning, or a call's name, arguments or rest is a marker, or whitespace beside one."""

    @law_of(400)
    def test_l3_turns(self, random: Random, size: int) -> None:
        """From an output made of known pieces come exactly these pieces, as text and with markers as tokens."""
        turn = self.subject.turn(random, size)
        request = self.subject.request_for(turn.calls)
        for sample in (self.subject.sample(turn.text, request), self.subject.token_sample(turn.text, request)):
            message = whole(sample)
            assert (message.content or "", message.reasoning or "") == (turn.content, turn.reasoning), turn.text
            assert self.calls(message) == self.calls(turn.calls), turn.text
            assert {call.outcome for call in message.tool_calls} <= {"ok"}, turn.text

    @law_of(400)
    def test_l3_mangled(self, random: Random, size: int) -> None:
        """In mangled outputs every text is found again in its order, and each character that stands out once."""
        text, request = self.subject.mangled(random, size), self.subject.request(random, size)
        writer = self.subject.writer(random, size)
        finish = writer.finish()
        accounted(self.subject.markers, self.subject.sample(text, request, finish))
        tokens = self.subject.token_sample(text, request, finish, spelled=writer.spelled())
        accounted(self.subject.markers, tokens)

    @law_of(400)
    def test_l3_untouched(self, random: Random, size: int) -> None:
        """Where no call and no reasoning may be, all text is content as it stands."""
        form = self.subject.form
        if form.content:
            pytest.skip("this format has markers around plain answers")
        text = self.subject.mangled(random, size) + ("." if form.trailer else "")
        for request in (Request(), Request(tools=offered(["get_weather"]), tool_choice="none")):
            message = self.subject.silent.read(Output(text), request)
            assert message == Message(content=text or None, validated=message.validated)
