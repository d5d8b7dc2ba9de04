"""The markers of a format, as the kit sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from msgspec import Struct

from toolglot.formats import Frame, WireFormat

WHITESPACE = " \t\r\n"
_OUTER = WHITESPACE + "~"
_GAP = re.compile(r"[ \t\r\n~]+")
_TOKEN = re.compile(r"<[^<>]+>")
_SLOT = re.compile(r"(?<!\{)\{\w+(?::\w+)?\}(?!\})")


class Markers(Struct, frozen=True):
    """The spellings of one format's markers, without whitespace around them; the longest first."""

    every: tuple[str, ...]
    openers: tuple[str, ...]
    """Those with which calls begin."""
    closers: tuple[str, ...]
    """Those with which calls end."""
    spaced: frozenset[str]
    """Those of the closers to which whitespace behind them belongs."""
    channels: tuple[str, ...]
    """Those around reasoning and plain answers, and between the parts of a turn."""
    headers: tuple[str, ...]
    """In a turn of messages, those of several words: the first words of one at the end of the output are no text."""
    separators: tuple[str, ...]
    bare: bool
    """A call may begin without an opener: alone, or as a further one of a section."""
    sections: bool
    """Calls may stand in a section."""
    unclosed: bool
    """A call may end without a closer."""
    verbatim: bool
    """Arguments are JSON in the output, and pass through as written."""

    @classmethod
    def of(cls, form: WireFormat) -> Markers:
        """The markers of a declaration."""
        frames = [frame for dialect in form.calls for frame in (dialect.call, dialect.section) if frame]
        opens = [text for frame in frames for text in frame.open]
        closes = [text for frame in frames for text in frame.close]
        channels = [form.reasoning.fence] if form.reasoning else []
        channels += [form.content] if form.content else []
        others = [text for frame in channels for text in (*frame.open, *frame.close)]
        bodies = [text for dialect in form.calls for text in dialect.body.markers]
        return cls(
            _cores((*opens, *closes, *others, *bodies, form.between, *form.trailer)),
            _cores(opens),
            _cores(closes),
            frozenset(_cores(text for text in closes if text[-1:] in WHITESPACE)),
            _cores((*others, form.between)),
            _cores((*opens, *closes, *others, *bodies, form.between)) if form.between else (),
            _cores(dialect.separator + form.between for dialect in form.calls),
            bare=any("" in dialect.call.open or dialect.call.optional for dialect in form.calls),
            sections=any(dialect.section for dialect in form.calls),
            unclosed=any("" in dialect.call.close or dialect.call.optional for dialect in form.calls),
            verbatim=all(dialect.body.verbatim for dialect in form.calls),
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """Each marker as the model writes it."""
        return tuple(canonical(marker) for marker in self.every)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The literals in them that could each be one token of a vocabulary; a code fence is text in all of them."""
        literals = {literal for marker in self.every for literal in _GAP.split(marker)}
        tokens = {token for literal in literals for token in _TOKEN.findall(literal) or (literal,)}
        return tuple(sorted(token for token in tokens if len(token) > 2 and not (token[0].isalnum() or "```" in token)))

    def found(self, text: str, spellings: Iterable[str] | None = None) -> list[re.Match[str]]:
        """Every marker in ``text``, or every one of ``spellings``."""
        return [match for marker in (self.every if spellings is None else spellings) for match in matches(marker, text)]


def canonical(spelling: str) -> str:
    """A spelling as the model writes it."""
    return spelling.replace("~", "")


def fence(frame: Frame) -> tuple[str, str]:
    """The opener and the closer of a frame as the model writes them."""
    return canonical(frame.open[0]), canonical(frame.close[0])


def matches(marker: str, text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """Where ``marker`` stands in ``text``, with any whitespace in its gaps."""
    return _pattern(marker).finditer(text, start)


def match(marker: str, text: str, at: int) -> re.Match[str] | None:
    """``marker`` at one place of ``text``."""
    return _pattern(marker).match(text, at)


def begun(marker: str, text: str) -> re.Match[str] | None:
    """The first words of a marker of several words, at the end of ``text``."""
    return _beginning(marker).search(text) if _GAP.search(marker) else None


@cache
def _beginning(marker: str) -> re.Pattern[str]:
    first, *others = _GAP.split(marker)
    pattern = ""
    for word in reversed(others):
        for char in reversed(word):
            pattern = f"(?:{re.escape(char)}{pattern})?"
        pattern = rf"[ \t\r\n]*{pattern}"
    return re.compile(re.escape(first) + pattern + r"\Z")


@cache
def _pattern(marker: str) -> re.Pattern[str]:
    return re.compile(r"[ \t\r\n]*+".join(map(re.escape, _GAP.split(marker))))


def _cores(spellings: Iterable[str]) -> tuple[str, ...]:
    cores = {piece.strip(_OUTER) for spelling in spellings for piece in _SLOT.split(spelling)} - {""}
    return tuple(sorted(cores, key=lambda core: (-len(core), core)))
