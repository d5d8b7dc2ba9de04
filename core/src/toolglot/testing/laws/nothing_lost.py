"""L3: every character ends up somewhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolglot.events import Message
from toolglot.requests import Output, Request
from toolglot.testing import strategies
from toolglot.testing.checks import accounted, whole
from toolglot.testing.laws.suite import Suite, many, request_for
from toolglot.testing.subject import offered

_NUMBERS = st.sets(st.integers(0, 8))


class NothingLost(Suite):
    """What is not content, reasoning, or a call's name, arguments or rest is a marker, or whitespace beside one."""

    @many
    @given(data=st.data())
    def test_l3_turns(self, data: st.DataObject) -> None:
        """From an output made of known pieces come exactly these pieces, as text and with markers as tokens."""
        turn = data.draw(self.subject.turns)
        request = request_for(turn.calls)
        for sample in (self.subject.sample(turn.text, request), self.subject.token_sample(turn.text, request)):
            message = whole(sample)
            assert (message.content or "", message.reasoning or "") == (turn.content, turn.reasoning), turn.text
            assert self.calls(message) == self.calls(turn.calls), turn.text
            assert {call.outcome for call in message.tool_calls} <= {"ok"}, turn.text

    @many
    @given(data=st.data())
    def test_l3_mangled(self, data: st.DataObject) -> None:
        """In mangled outputs every text is found again in its order, and each character that stands out once."""
        text, request = data.draw(self.subject.mangled), data.draw(self.subject.requests)
        finish = data.draw(strategies.finishes())
        accounted(self.subject.markers, self.subject.sample(text, request, finish))
        accounted(self.subject.markers, self.subject.token_sample(text, request, finish, spelled=data.draw(_NUMBERS)))

    @many
    @given(data=st.data())
    def test_l3_untouched(self, data: st.DataObject) -> None:
        """Where no call and no reasoning may be, all text is content as it stands."""
        text = data.draw(self.subject.mangled)
        for request in (Request(), Request(tools=offered(["get_weather"]), tool_choice="none")):
            message = self.subject.silent.read(Output(text), request)
            assert message == Message(content=text or None, validated=message.validated)
