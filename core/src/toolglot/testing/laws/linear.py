"""L6: the cost of a token does not grow with what came before, and little is held back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from toolglot.events import Call, Event
from toolglot.requests import Delta, Request
from toolglot.testing import hostile, reading, strategies, work
from toolglot.testing.checks import held_back, whole
from toolglot.testing.laws.suite import Suite, few, many, request_for
from toolglot.testing.subject import offered

_REQUEST = Request(tools=offered(["get_weather"]))
_KIB = 1024


class Linear(Suite):
    """Time and text held back."""

    def test_l6_work_is_linear(self) -> None:
        """Four times the text takes four times the function calls, and hardly more."""
        for label, flood in self._floods():
            short, long = (work.calls_made(self._reader(flood(size), 1)) for size in (400, 1600))
            assert long <= 4.5 * short + 400, f"{label}: {short} calls for 400 characters, {long} for 1,600"

    def test_l6_time_is_linear(self) -> None:
        """Eight times the text takes eight times the processor time; 64 times would be quadratic."""
        for label, flood in self._floods():
            short, long = (work.processor_time(self._reader(flood(size), 32)) for size in (8_000, 64_000))
            assert long <= 24 * short + 0.05, f"{label}: {short:.4f} s for 8,000 characters, {long:.4f} s for 64,000"

    def test_l6_floods_finish(self) -> None:
        """A quarter of a megabyte of anything is read, as a whole and in pieces."""
        for label, flood in self._floods():
            sample = self.subject.sample(flood(256 * _KIB), _REQUEST, "length")
            events = reading.stream(self.subject.text, _REQUEST, _pieces(sample.output.text, 4 * _KIB), "length")
            assert reading.without_ids(reading.added_up(events)) == reading.without_ids(whole(sample)), label

    def test_l6_a_megabyte_of_arguments(self) -> None:
        """A call with a megabyte of arguments is read, token by token and as a whole."""
        arguments = '{"text": "' + 'a \\n\\"<{}é' * (100 * _KIB) + '"}'
        text = self.subject.render(Call("", "get_weather", arguments))
        for size in (4, len(text)):
            events = reading.stream(self.subject.text, _REQUEST, _pieces(text, size), "stop")
            (call,) = reading.added_up(events).tool_calls
            assert self.arguments(call.arguments) == self.arguments(arguments)

    @few
    @given(data=st.data())
    def test_l6_little_is_held_back(self, data: st.DataObject) -> None:
        """No more than the head of a call, a marker, and a run of whitespace."""
        turn = data.draw(self.subject.canonical_turns)
        heads = [len(self.subject.render(replace(call, arguments="{}"))) for call in turn.calls]
        spaces = re.findall(r"\s+", turn.text)
        bound = max(map(len, self.subject.markers.every)) + max(heads, default=0) + max(map(len, spaces), default=0)
        for end, held in held_back(self.subject.sample(turn.text, request_for(turn.calls))):
            assert held <= bound, f"{held} characters of {turn.text[:end]!r} are held back"

    @many
    @given(text=st.text("abc \n.{}[]\"'0é東", min_size=1))
    def test_l6_prose_is_not_held_back(self, text: str) -> None:
        """Text with which no marker begins is sent on at once, but for whitespace at its end."""
        for char in {marker[0] for marker in self.subject.markers.every}:
            text = text.replace(char, ".")
        for end, held in held_back(self.subject.sample(f".{text}", _REQUEST)):
            waiting = end - len(f".{text}"[:end].rstrip())
            assert held <= waiting, f"{held} characters of {text[:end]!r} are held back"

    @few
    @given(data=st.data())
    def test_l6_arguments_are_not_held_back(self, data: st.DataObject) -> None:
        """Arguments of a call whose name is known are sent on as they come, but for half an escape."""
        self.needs_verbatim()
        call = data.draw(strategies.calls(self.subject.markers.every))
        text = self.subject.render(call)
        start = text.index(call.arguments)
        stream = self.subject.text.start(request_for([call]))
        got = _said(stream.feed(text[:start]))
        for at, char in enumerate(call.arguments, 1):
            got += _said(stream.feed(char))
            assert at - got <= 1, f"{call.arguments[got:at]!r} is held back"

    def _floods(self) -> Iterator[tuple[str, Callable[[int], str]]]:
        """Floods of a length: alone, after an opener, and in the middle of a call."""
        example = self.subject.example
        for label, unit in hostile.floods(self.subject.markers, example):
            yield label, lambda size, unit=unit: hostile.repeated(unit, size)
            yield f"{label} in a call", lambda size, unit=unit: hostile.inside(example, unit, size)
            for opener in self.subject.markers.openers:
                yield f"{label} after {opener}", lambda size, unit=unit, opener=opener: opener + hostile.repeated(unit, size)

    def _reader(self, text: str, size: int) -> Callable[[], None]:
        """Reads ``text`` in pieces of ``size`` characters."""

        def read() -> None:
            stream = self.subject.text.start(_REQUEST)
            for delta in _pieces(text, size):
                stream.feed(delta.text)
            stream.finish("length")

        return read


def _pieces(text: str, size: int) -> Iterator[Delta]:
    return (Delta(text[start : start + size]) for start in range(0, len(text), size))


def _said(events: list[Event]) -> int:
    return reading.delivered(events)
