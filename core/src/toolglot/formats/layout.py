"""A format made ready for reading: its markers compiled, once a format and vocabulary."""

from __future__ import annotations

from functools import cache, cached_property
from typing import NamedTuple

from toolglot.formats.binding import Binding
from toolglot.formats.declaration import Calls, Frame, WireFormat, exactly, spellings
from toolglot.formats.json_text import Delimiters
from toolglot.formats.markers import GAP, Marker, Scan
from toolglot.formats.templates import Template, behind_words, parts_of


class Opening(NamedTuple):
    """A marker with which calls begin: of a section, of one call."""

    dialect: Calls
    section: bool
    tail: str
    """The canonical whitespace after it."""
    bare: bool
    """It could be ordinary text."""
    taken: bool
    """It is read; otherwise it is already the beginning of the call's body."""
    others: tuple[Calls, ...] = ()
    """Further dialects that begin with it."""


class FenceOpen(NamedTuple):
    """The marker that opens the reasoning, and those that then close it."""

    closers: tuple[str, ...]


class FenceClose(NamedTuple):
    """The marker that closes the reasoning."""


class Answer(NamedTuple):
    """A marker around plain answers: one that opens them, or the closer itself."""

    opens: bool
    closer: str


class Late(NamedTuple):
    """A closing marker, of a call or of a section, that comes after text that was no part of it."""

    section: bool


class Between(NamedTuple):
    """What stands between the parts of a turn."""


class Trailer(NamedTuple):
    """The turn's end, spelled as text."""


Sign = Opening | FenceOpen | FenceClose | Answer | Late | Between | Trailer
Signs = list[tuple[str, Sign]]


class Layout:
    """What the machine must know of a format. ``exact``: read as the grammar writes it, without leniency."""

    def __init__(self, form: WireFormat, binding: Binding, *, exact: bool) -> None:
        form = exactly(form) if exact else form
        self.form = binding.form(form) if binding else form
        self.binding = binding
        self.exact = exact
        self.prose = cache(self._prose)
        """What may follow plain text: calls, the reasoning's fence, what is left of a call or section not closed."""
        self.thought = cache(self._thought)
        """What may follow reasoning: its fence, and calls where they end it."""
        self.markers = cache(self._markers)
        """A scan for some of the format's own spellings."""
        self.templates = cache(self._templates)
        """Templates ready for reading, each word of which also ends where another of them goes on."""

    @cached_property
    def headless(self) -> tuple[Calls, ...]:
        """The dialects whose calls have no opener: they begin where a part of the turn begins."""
        return tuple(filter(headless, self.form.calls))

    @cached_property
    def enders(self) -> Scan[str]:
        """The markers that end a call whose JSON is broken. Those that begin as JSON could do not count."""
        frames = [frame for calls in self.form.calls for frame in (calls.call, calls.section) if frame]
        found = {unbracketed(marker) for marker in (*spellings(frames), self.form.between)}
        found = {marker for marker in found if distinct(marker) and not (marker[0] == "[" or marker[0].isalnum())}
        return Scan(((marker, marker) for marker in found), exact=self.exact)

    @cached_property
    def delimiters(self) -> Delimiters:
        """The regular expressions of the JSON scanner for these enders."""
        return Delimiters(self.enders.first)

    def _openings(self, *, anywhere: bool) -> Signs:
        found: list[tuple[str, Opening]] = []
        for dialect in self.form.calls:
            section = dialect.section
            found += _openings(dialect, section, section=True) if section else []
            if section is None or section.optional:
                found += _openings(dialect, dialect.call, section=False)
        openings: dict[str, Opening] = {}
        for text, opening in found:
            first = openings.setdefault(text, opening)
            if first.dialect is not opening.dialect:
                openings[text] = first._replace(others=(*first.others, opening.dialect))
        anywhere |= self.form.begins == "anywhere"
        return [(text, opening) for text, opening in openings.items() if anywhere or not opening.bare]

    def _prose(
        self, *, calls: bool, start: bool, fence: bool, late: tuple[str, ...], inside: Calls | None
    ) -> Scan[Sign]:
        signs = self._openings(anywhere=start) if calls else []
        if fence and self.form.reasoning:
            signs += _fences(self.form.reasoning.fence)
        if self.form.content:
            signs += _answers(self.form.content)
        signs += [(spelling, Late(False)) for spelling in late]
        if inside and inside.section:
            signs += [(spelling, Late(True)) for spelling in inside.section.close]
            signs += _openings(inside, inside.call, section=False)
        signs += [(self.form.between, Between()), *((spelling, Trailer()) for spelling in self.form.trailer)]
        return Scan(signs, exact=self.exact)

    def _thought(self, *, calls: bool, closers: tuple[str, ...]) -> Scan[Sign]:
        signs: Signs = [(spelling, FenceClose()) for spelling in (*closers, self.form.between)]
        if calls and self.form.reasoning and self.form.reasoning.call_ends:
            signs += self._openings(anywhere=False)
        return Scan(signs, exact=False)  # whitespace at the fence is framing, whoever writes it

    def _markers(self, wanted: tuple[str, ...]) -> Scan[str]:
        return Scan(((spelling, spelling) for spelling in wanted), exact=self.exact)

    def _templates(self, wanted: tuple[str, ...], stops: str) -> tuple[Template, ...]:
        parts = [parts_of(spelling) for spelling in wanted]
        stops += "".join(behind_words(one) for one in parts)
        return tuple(Template(one, stops, exact=self.exact) for one in parts)


def _fences(fence: Frame) -> Signs:
    paired = len(fence.open) == len(fence.close)
    return [
        (spelling, FenceOpen(fence.close[number : number + 1] if paired else fence.close))
        for number, spelling in enumerate(fence.open)
    ]


def _answers(frame: Frame) -> Signs:
    closers = frame.close if len(frame.open) == len(frame.close) else ("",) * len(frame.open)
    signs: Signs = [(spelling, Answer(True, closer)) for spelling, closer in zip(frame.open, closers, strict=True)]
    return signs + [(spelling, Answer(False, spelling)) for spelling in frame.close]


def _openings(dialect: Calls, frame: Frame, *, section: bool) -> list[tuple[str, Opening]]:
    found = []
    for spelling in frame.open:
        taken = bool(spelling.strip(GAP))
        opener = spelling if taken else dialect.body.first
        found.append((opener, Opening(dialect, section, Marker(spelling).tail, not distinct(spelling), taken)))
    return found


def unbracketed(marker: str) -> str:
    """A marker without the brackets with which it begins: they may be part of JSON that is broken."""
    return marker.lstrip(GAP + "]}")


def headless(dialect: Calls) -> bool:
    """Whether calls begin with the slot of a header, with no marker before it."""
    return dialect.section is None and "" in dialect.call.open and bool(dialect.body.heads)


def distinct(marker: str) -> bool:
    """Whether a marker stands out: neither JSON, code nor plain prose reads like it."""
    text = marker.strip(GAP)
    return bool(text) and (text[0] >= "\udc00" or (len(text) > 2 and not text.startswith(("{", "```", '"'))))
