"""L6: the cost of a token does not grow with what came before, and little is held back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from toolglot.events import Call, Message
from toolglot.formats.synthesis import quote
from toolglot.requests import Delta
from toolglot.testing import hostile, reading, work
from toolglot.testing.checks import held_back, whole
from toolglot.testing.laws.suite import THOROUGH, Suite, law_of
from toolglot.testing.markers import canonical
from toolglot.testing.reading import without_ids

_KIB = 1024
_PIECE = 32
"""Characters in a delta: small enough that reading again what is held back would be seen."""
_LINEAR = 16.0
"""How many times the time eight times the text may take."""


class Linear(Suite):
    """Time and text held back."""

    def test_l6_work_is_linear(self) -> None:
        """Four times the text takes about four times the function calls; quadratic work would take sixteen times.

        They are a few more where a head that was held back became too long to be one.
        """
        for label, flood in self._floods():
            short, long = (work.calls_made(partial(self._read, flood(size), 1)) for size in (200, 800))
            assert long <= 6 * short + 400, f"{label}: {short} calls for 200 characters, {long} for 800"

    def test_l6_floods(self) -> None:
        """32 KiB of anything are read as a whole, and in pieces in eight times the time of 4 KiB; 64 were quadratic."""
        for label, flood in self._floods():
            sample = self.subject.sample(flood(32 * _KIB), self.subject.common, "length")
            short, long = (partial(self._read, flood(size), _PIECE) for size in (4 * _KIB, 32 * _KIB))
            ratio, message = work.time_ratio(short, long, enough=_LINEAR)
            assert ratio <= _LINEAR, f"{label}: {ratio:.0f} times the time for eight times the text"
            assert without_ids(message) == without_ids(whole(sample)), label

    def test_l6_a_megabyte_of_arguments(self) -> None:
        """A call with a megabyte of arguments is read, in small pieces and as a whole."""
        arguments = '{"text": "' + 'a \\n\\"<{}é' * (100 * _KIB) + '"}'
        text = self.subject.render(Call("", "get_weather", arguments))
        for size in (4 if THOROUGH else _PIECE, len(text)):
            (call,) = self._read(text, size).tool_calls
            assert self.arguments(call.arguments) == self.arguments(arguments)

    @law_of(25)
    def test_l6_little_is_held_back(self, random: Random, size: int) -> None:
        """No more than the head of a call, a marker, and a run of whitespace; where values are typed, one argument."""
        turn = self.subject.canonical_turn(random, size)
        heads = [len(self.subject.render(part)) for call in turn.calls for part in self._parts(call)]
        spaces = re.findall(r"\s+", turn.text)
        bound = (
            max(map(len, self.subject.markers.texts), default=0)
            + max(heads, default=0)
            + max(map(len, spaces), default=0)
        )
        for end, held in held_back(self.subject.sample(turn.text, self.subject.request_for(turn.calls))):
            assert held <= bound, f"{held} characters of {turn.text[:end]!r} are held back"

    @law_of(100)
    def test_l6_prose_is_not_held_back(self, random: Random, size: int) -> None:
        """Text with which no marker begins is sent on at once, but for whitespace at its end."""
        text = "".join(random.choices("abc \n.{}[]\"'0é東", k=5 * size))
        bodies = [dialect.body.first for dialect in self.subject.form.calls]
        for char in {begin[0] for begin in (*self.subject.markers.every, *bodies) if begin}:
            text = text.replace(char, ".")
        for end, held in held_back(self.subject.sample(f". {text}", self.subject.common)):
            if end == 1 and self.subject.form.between:
                continue  # it could be the name in a header
            waiting = end - len(f". {text}"[:end].rstrip())
            assert held <= waiting, f"{held} characters of {text[:end]!r} are held back"

    @law_of(25)
    def test_l6_arguments_are_not_held_back(self, random: Random, size: int) -> None:
        """Arguments of a call whose name is known are sent on as they come, but for half an escape."""
        if not self.verbatim:
            pytest.skip("this format does not write arguments as JSON")
        call = self.subject.call(random, size)
        text = self.subject.render(call)
        start = text.index(call.arguments)
        stream = self.subject.text.start(self.subject.request_for([call]))
        got = reading.delivered(stream.feed(text[:start]))
        for at, char in enumerate(call.arguments, 1):
            got += reading.delivered(stream.feed(char))
            assert at - got <= 1, f"{call.arguments[got:at]!r} is held back"

    def _parts(self, call: Call) -> Iterator[Call]:
        """``call`` without arguments, and with each alone where their types must be known before they are passed on."""
        yield replace(call, arguments="{}")
        members = {} if self.verbatim else msgspec.json.decode(call.arguments, type=dict[str, msgspec.Raw])
        for key, value in members.items():
            yield replace(call, arguments=f"{{{quote(key)}: {bytes(value).decode()}}}")

    def _floods(self) -> Iterator[tuple[str, Callable[[int], str]]]:
        """Floods of a length. The usual run takes a quarter of them, other ones for other parsers."""
        floods = list(self._every_flood())
        return iter(floods if THOROUGH else floods[sum(map(ord, self.parser)) % 4 :: 4])

    def _every_flood(self) -> Iterator[tuple[str, Callable[[int], str]]]:
        """Alone, after an opener, and in the middle of a call."""
        example = self.subject.example
        opener = canonical(next(iter(self.subject.markers.openers), ""))
        for label, unit in hostile.floods(self.subject.markers, example):
            yield label, partial(hostile.repeated, unit)
            yield f"{label} in a call", partial(hostile.inside, example, unit)
            yield f"{label} after an opener", partial(hostile.after, opener, unit)

    def _read(self, text: str, size: int) -> Message:
        """``text`` read in pieces of ``size`` characters, and then cut."""
        return reading.added_up(reading.stream(self.subject.text, self.subject.common, _pieces(text, size), "length"))


def _pieces(text: str, size: int) -> Iterator[Delta]:
    return (Delta(text[start : start + size]) for start in range(0, len(text), size))
