"""L4 and L7: what the renderer writes is read as the calls that it was given, and arguments pass through as written.

Where a format does not write JSON, they pass through as what they mean.
"""

from __future__ import annotations

from random import Random

from toolglot.testing.checks import whole
from toolglot.testing.laws.suite import Suite, law_of


class RoundTrip(Suite):
    """Reading undoes rendering."""

    @law_of(400)
    def test_l4_round_trip(self, random: Random, size: int) -> None:
        """Several calls, in any way of writing that the reader grants."""
        calls = self.subject.calls(random, size)
        request = self.subject.request_for(calls)
        text = self.subject.text.render(calls, tools=request.tools, vary=random.choice((None, random.getrandbits(32))))
        message = whole(self.subject.sample(text, request))
        assert self.calls(message) == self.calls(calls), text
        assert (message.content, message.reasoning) == (None, None), text
        assert {call.outcome for call in message.tool_calls} == {"ok"}, text

    @law_of(400)
    def test_l7_arguments_as_written(self, random: Random, size: int) -> None:
        """Spacing, escapes, duplicate keys, big numbers."""
        call = self.subject.call(random, size)
        text = self.subject.render(call)
        (got,) = whole(self.subject.sample(text, self.subject.request_for([call]))).tool_calls
        assert self.arguments(got.arguments) == self.arguments(call.arguments), text
        assert got.arguments in text or not self.verbatim
