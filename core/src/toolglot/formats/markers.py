"""Markers: finding them in text that is still arriving, without backtracking and without a look back."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

WHITESPACE = " \t\r\n"
MAX_GAP = 512
"""The longest whitespace run inside a marker; it bounds what is held back."""
NO, PARTIAL = -1, -2
"""What matching answers when the text is not the marker, and when it may still become it."""

PIECES = re.compile(r"[ \t\r\n~]+|[^ \t\r\n~]+")
SPACES = re.compile(r"[ \t\r\n]*+")
GAP = WHITESPACE + "~"

Action = TypeVar("Action")


def core(spelling: str) -> str:
    """A spelling as the model writes it, without the whitespace around it."""
    return spelling.strip(GAP).replace("~", "")


def reach(pattern: re.Pattern[str], text: str, at: int, end: int = sys.maxsize) -> int:
    """Where a pattern that also matches the empty string stops matching."""
    match = pattern.match(text, at, end)
    assert match is not None
    return match.end()


class Marker:
    """One spelling: literals with gaps of whitespace between them, a gap before and a gap after.

    ``lead`` and ``tail`` are the canonical whitespace of the outer gaps; matching is about what stands between them.
    """

    __slots__ = ("head", "lead", "parts", "tail")

    def __init__(self, spelling: str) -> None:
        core = spelling.strip(GAP)
        start = spelling.find(core)
        self.lead = spelling[:start].replace("~", "")
        self.tail = spelling[start + len(core) :].replace("~", "")
        self.parts = tuple(
            (None, piece.replace("~", "")) if piece[0] in GAP else (piece, "") for piece in PIECES.findall(core)
        )
        self.head: str = (self.parts[0][0] or "") if self.parts else ""

    def match(self, text: str, at: int, *, eof: bool, exact: bool) -> int:
        """Where the marker that begins at ``at`` ends; else NO, or PARTIAL when more text could complete it."""
        for literal, gap in self.parts:
            if literal is None and not exact:
                at = reach(SPACES, text, at, at + MAX_GAP)
                continue
            fixed = gap if literal is None else literal
            if not text.startswith(fixed, at):
                cut = not eof and len(text) - at < len(fixed) and fixed.startswith(text[at:])
                return PARTIAL if cut else NO
            at += len(fixed)
        return at


class Hit(NamedTuple, Generic[Action]):
    """Where scanning stopped: at a marker (``action`` says which), or where one may be beginning, or at the end."""

    start: int
    end: int
    action: Action | None


class Scan(Generic[Action]):
    """Looks for the first of several markers. Where one is the beginning of another, the longer wins."""

    def __init__(self, markers: Iterable[tuple[str, Action]], *, exact: bool = False) -> None:
        found = [(Marker(spelling), action) for spelling, action in markers]
        found = [(marker, action) for marker, action in found if marker.head]
        self._markers = sorted(found, key=lambda one: -sum(len(literal or "") for literal, _ in one[0].parts))
        self._exact = exact
        heads = sorted({marker.head for marker, _ in found}, key=len, reverse=True)
        self._heads = re.compile("|".join(map(re.escape, heads))) if heads else None
        self._starts = {head[:length] for head in heads for length in range(1, len(head))}
        self._longest = max(map(len, heads), default=0)
        self.first = "".join(sorted({head[0] for head in heads}))
        """The characters with which a marker can begin."""

    def __bool__(self) -> bool:
        return self._heads is not None

    def at(self, text: str, at: int, *, eof: bool) -> Hit[Action]:
        """The marker that begins at ``at``; ``end`` is NO or PARTIAL when there is none."""
        partial = False
        for marker, action in self._markers:
            end = marker.match(text, at, eof=eof, exact=self._exact)
            if end >= 0:
                return Hit(at, PARTIAL, None) if partial else Hit(at, end, action)
            partial |= end == PARTIAL
        return Hit(at, PARTIAL if partial else NO, None)

    def find(self, text: str, at: int, *, eof: bool) -> Hit[Action]:
        """The first marker from ``at`` on. Without one, ``start`` is how far the text is certain to hold none."""
        if self._heads is None:
            return Hit(len(text), NO, None)
        start = at
        while head := self._heads.search(text, start):
            hit = self.at(text, head.start(), eof=eof)
            if hit.end != NO:
                certain = hit.start if eof else self._certain(text, at)  # it may be inside a longer one
                return hit if certain >= hit.start else Hit(certain, PARTIAL, None)
            start = head.start() + 1
        return Hit(len(text) if eof else self._certain(text, at), NO, None)

    def _certain(self, text: str, at: int) -> int:
        end = len(text)
        for start in range(max(at, end - self._longest + 1), end):
            if text[start] in self.first and text[start:] in self._starts:
                return start
        return end


def scan_of(spellings: Sequence[str], *, exact: bool = False) -> Scan[str]:
    """A scan whose actions are the spellings themselves."""
    return Scan(((spelling, spelling) for spelling in spellings), exact=exact)
