"""Where every character of an output went (law L3)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from toolglot.events import ArgumentsDelta, CallEnd, CallStart, ContentDelta, Event, ReasoningDelta
from toolglot.testing.markers import WHITESPACE, Markers, begun, match, matches

_SPACES = re.compile(r"[ \t\r\n]*+")


def texts(events: Iterable[Event]) -> list[str]:
    """Every text of the output that events hold."""
    found = []
    for event in events:
        match event:
            case CallStart(_, number, name):
                found += [name] if name in number else [number, name]  # an id may be made of the name
            case CallEnd(_, _, _, rest):
                found.append(rest)
            case ContentDelta(text) | ReasoningDelta(text) | ArgumentsDelta(_, text):
                found.append(text)
    return found


class Account:
    """Follows what was read through the raw text. Left out may be markers, whitespace beside them, and call syntax.

    It tries every way at once: a position is a place in the raw text up to which all is accounted for.
    """

    def __init__(self, raw: str, markers: Markers, *, cut: bool = False) -> None:
        """``cut``: the output ended because of a limit."""
        self._raw = raw
        self._markers = markers
        self._cut = cut
        self._skips: dict[int, list[int]] = {}
        self._stops: list[int] = []

    def holds(self, events: Sequence[Event], *, reasoning_open: bool = False) -> bool:
        """Whether ``events`` (merged) leave nothing out."""
        self._leave_out(events)
        places = self._closure({0, _end_of_space(self._raw, 0)} if reasoning_open else {0})
        start = 0
        while start < len(events) and places:
            event = events[start]
            if isinstance(event, CallStart):
                length = 3 if isinstance(events[start + 1], ArgumentsDelta) else 2
                places = self._call(places, events[start + 1 : start + length])
                start += length
            else:
                assert isinstance(event, ContentDelta | ReasoningDelta)
                places = self._text(places, event.text)
                places = self._framed(places) if isinstance(event, ReasoningDelta) else places
                start += 1
        return len(self._raw) in places

    def _leave_out(self, events: Sequence[Event]) -> None:
        """Note the markers outside calls that may be left out, each with the whitespace on both sides.

        An opener that opens nothing is one only at a cut, a closer that comes late only after a call that lacks it, and
        the first words of a marker only at the end.
        """
        late = self._markers.sections or any(isinstance(event, CallEnd) and _unclosed(event) for event in events)
        outside = set(self._markers.every).difference(self._markers.openers, self._markers.closers)
        spellings = (*outside, *self._markers.channels, *(self._markers.closers if late else ()))
        halves = filter(None, (begun(marker, self._raw) for marker in self._markers.headers))
        found = [*self._markers.found(self._raw, spellings), *self._cut_openers(), *halves]
        for marker in found:
            self._skip(marker.start(), marker.end())
        self._stops = sorted(self._skips)

    def _cut_openers(self) -> list[re.Match[str]]:
        """Openers behind which the output was cut."""
        openers = self._markers.found(self._raw, self._markers.openers) if self._cut else []
        behind = len(self._raw)
        last = []
        for opener in sorted(openers, key=lambda one: one.end(), reverse=True):
            if self._raw[opener.end() : behind].strip(WHITESPACE):
                break
            behind = opener.start()
            last.append(opener)
        return last

    def _skip(self, start: int, end: int) -> None:
        begin = len(self._raw[:start].rstrip(WHITESPACE))
        after = _end_of_space(self._raw, end)
        for place in range(begin, start + 1):
            self._skips.setdefault(place, []).extend(range(end, after + 1))

    def _closure(self, places: set[int]) -> set[int]:
        found, waiting = set(places), list(places)
        while waiting:
            for place in self._skips.get(waiting.pop(), ()):
                if place not in found:
                    found.add(place)
                    waiting.append(place)
        return found

    def _text(self, places: set[int], text: str) -> set[int]:
        """Where the raw text can have been read up to when it has said ``text``, in pieces between markers."""
        found: set[int] = set()
        ways = [(place, 0) for place in places]
        seen = set(ways)
        while ways:
            place, said = ways.pop()
            if said == len(text):
                found.add(place)
            step = min(self._stop(place) - place, len(text) - said)
            new = [(after, said) for after in self._skips.get(place, ())]
            if step and self._raw.startswith(text[said : said + step], place):
                new.append((place + step, said + step))
            ways += [way for way in new if way not in seen]
            seen.update(new)
        return self._closure(found)

    def _stop(self, place: int) -> int:
        """The next place after ``place`` at which something may be left out, or the end."""
        number = bisect_right(self._stops, place)
        return self._stops[number] if number < len(self._stops) else len(self._raw)

    def _call(self, places: set[int], events: Sequence[Event]) -> set[int]:
        """A call: an opener, somewhere in it the arguments as they were written, and a closer unless it is flagged."""
        end = events[-1]
        assert isinstance(end, CallEnd)
        arguments = events[0].text if isinstance(events[0], ArgumentsDelta) else ""
        starts = [start for place in places for start in self._openers(place)]
        ends = [self._raw.find(arguments, start) + len(arguments) for start in starts if arguments in self._raw[start:]]
        if end.repairs or not self._markers.verbatim:  # the arguments are written in another way
            ends += starts
        if not ends:
            return set()
        loose = self._markers.unclosed or _unclosed(end)
        after = range(min(ends), len(self._raw) + 1) if loose else self._closers(min(ends))
        return self._closure(self._framed(set(after)))

    def _framed(self, places: set[int]) -> set[int]:
        """``places``, and the end where only whitespace is left."""
        end = len(self._raw)
        return places | {end for place in places if _end_of_space(self._raw, place) == end}

    def _openers(self, place: int) -> list[int]:
        """Where the inside of a call that begins at ``place`` may begin."""
        place = _end_of_space(self._raw, place)
        spellings = self._markers.openers + (self._markers.separators if self._markers.bare else ())
        found = [hit.end() for one in spellings if (hit := match(one, self._raw, place))]
        return [*found, place] if self._markers.bare else found

    def _closers(self, start: int) -> list[int]:
        """The ends of all closers from ``start`` on, and of the whitespace that may belong to them."""
        found = [(one, hit.end()) for one in self._markers.closers for hit in matches(one, self._raw, start)]
        spaced = [end for one, end in found if one in self._markers.spaced]
        ends = {place for end in spaced for place in range(end, _end_of_space(self._raw, end) + 1)}
        return sorted({end for _, end in found} | ends)


def _unclosed(end: CallEnd) -> bool:
    """Whether a call may have ended without its closer."""
    return end.outcome in ("truncated", "malformed") or "missing_closer" in end.repairs


def _end_of_space(text: str, at: int) -> int:
    return _SPACES.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string
