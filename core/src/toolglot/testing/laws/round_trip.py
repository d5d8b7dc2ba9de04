"""L4 and L7: what the renderer writes is read as the calls that it was given, and arguments pass through as written."""

from __future__ import annotations

from hypothesis import given, reject
from hypothesis import strategies as st

from toolglot.errors import RenderError
from toolglot.events import Call
from toolglot.testing import strategies
from toolglot.testing.checks import whole
from toolglot.testing.laws.suite import Suite, many, request_for


class RoundTrip(Suite):
    """Reading undoes rendering."""

    @many
    @given(data=st.data())
    def test_l4_round_trip(self, data: st.DataObject) -> None:
        """Several calls, in any way of writing that the reader grants."""
        calls = data.draw(st.lists(self._call, min_size=1, max_size=4))
        text = self._render(calls, data.draw(st.none() | st.integers(0, 2**32)))
        message = whole(self.subject.sample(text, request_for(calls)))
        assert self.calls(message) == self.calls(calls), text
        assert (message.content, message.reasoning) == (None, None), text
        assert {call.outcome for call in message.tool_calls} == {"ok"}, text

    @many
    @given(data=st.data())
    def test_l7_arguments_as_written(self, data: st.DataObject) -> None:
        """Spacing, escapes, duplicate keys, big numbers."""
        self.needs_verbatim()
        call = data.draw(self._call)
        text = self._render([call], None)
        (got,) = whole(self.subject.sample(text, request_for([call]))).tool_calls
        assert got.arguments == call.arguments
        assert got.arguments in text

    @property
    def _call(self) -> st.SearchStrategy[Call]:
        return strategies.calls(self.subject.markers)

    def _render(self, calls: list[Call], seed: int | None) -> str:
        try:
            return self.subject.text.render(calls, vary=seed)
        except RenderError:
            reject()
