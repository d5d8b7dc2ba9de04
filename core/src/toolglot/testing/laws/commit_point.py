"""The commit point: when a call is announced, and that nothing is taken back after it."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from toolglot.events import Call, CallStart
from toolglot.formats.layout import distinct
from toolglot.testing.checks import cut, whole
from toolglot.testing.laws.suite import Suite, law_of
from toolglot.testing.markers import canonical

_BROKEN = '{"a": "b\n'
_PROSE = "And more."


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


class CommitPoint(Suite):
    """A call is announced when its name and the first character of its arguments are known."""

    @law_of(50)
    def test_commit_not_before_the_name(self, random: Random, size: int) -> None:
        """Nothing is announced while the name may go on."""
        call = self.subject.call(random, size)
        text = self.subject.render(call)
        stream = self.subject.text.start(self.subject.request_for([call]))
        events = stream.feed(text[: self._end_of_name(call)])
        assert not [event for event in events if isinstance(event, CallStart)], text

    @law_of(50)
    def test_commit_with_the_arguments(self, random: Random, size: int) -> None:
        """JSON arguments: not one character before they begin, and not one after."""
        if not self.verbatim:
            pytest.skip("this format does not write arguments as JSON")
        call = self.subject.call(random, size)
        text = self.subject.render(call)
        start = text.index(call.arguments, self._end_of_name(call))
        stream = self.subject.text.start(self.subject.request_for([call]))
        assert not [event for event in stream.feed(text[:start]) if isinstance(event, CallStart)], text
        assert [event for event in stream.feed(text[start]) if isinstance(event, CallStart)], text

    @law_of(50)
    def test_commit_named_calls_survive_a_cut(self, random: Random, size: int) -> None:
        """A call whose name is known is delivered as far as it got when a limit ends the output."""
        call = self.subject.call(random, size)
        text, empty = self.subject.render(call), self.subject.render(replace(call, arguments="{}"))
        sample = self.subject.sample(text, self.subject.request_for([call]))
        head = _common(text, empty) + 1
        start = text.index(call.arguments, self._end_of_name(call)) if self.verbatim else head
        for end in range(start, len(text)):
            calls = whole(cut(sample, end)).tool_calls
            assert [one.name for one in calls] == [call.name], text[:end]

    def test_commit_broken_calls_end(self) -> None:
        """A string that is never closed, with a raw line break in it, ends at the marker that ends the call."""
        closer = next((text for text in map(canonical, self._closers()) if distinct(text)), None)
        if closer is None or not self.verbatim:
            pytest.skip("this format has no marker that ends JSON")
        call = Call("", "get_weather", _BROKEN.strip() + '"}')
        head = self.subject.render(call).partition(call.arguments)[0]
        message = whole(self.subject.sample(head + _BROKEN + closer + _PROSE, self.subject.request_for([call])))
        (got,) = message.tool_calls
        assert got.outcome == "malformed"
        assert (message.content or "").strip() == _PROSE

    def _end_of_name(self, call: Call) -> int:
        """Where the name ends in the rendered call."""
        one, other = (self.subject.render(replace(call, name=letter + call.name)) for letter in "xy")
        return _common(one, other) + len(call.name)

    def _closers(self) -> list[str]:
        dialect = self.subject.form.calls[0]
        return [frame.close[0] for frame in (dialect.call, dialect.section) if frame]
