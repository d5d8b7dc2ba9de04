"""The markers of a format, as the kit sees them: the literal texts between whitespace and slots."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from toolglot.formats import Frame, WireFormat

_BETWEEN = re.compile(r"[ \t\r\n~]+|(?<!\{)\{\w+(?::\w+)?\}(?!\})")
"""Whitespace and slots: what stands between the literals of a spelling."""


class Markers(Struct, frozen=True):
    """The markers of one format, the longest first."""

    every: tuple[str, ...]
    openers: tuple[str, ...]
    """Those with which calls begin."""
    closers: tuple[str, ...]
    """Those with which calls end."""
    separators: tuple[str, ...]
    bare: bool
    """A call may begin without an opener: alone, or as a further one of a section."""
    unclosed: bool
    """A call may end without a closer."""

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
            _literals((*opens, *closes, *others, *bodies, *form.trailer)),
            _literals(opens),
            _literals(closes),
            _literals(dialect.separator for dialect in form.calls),
            bare=any("" in dialect.call.open or dialect.call.optional for dialect in form.calls),
            unclosed=any("" in dialect.call.close or dialect.call.optional for dialect in form.calls),
        )

    @property
    def tokens(self) -> tuple[str, ...]:
        """Those that could each be one token of a vocabulary."""
        return tuple(marker for marker in self.every if len(marker) > 2 and not marker[0].isalnum())

    def count(self, text: str) -> int:
        """How many markers ``text`` holds."""
        return sum(text.count(marker) for marker in self.every)


def canonical(frame: Frame) -> tuple[str, str]:
    """The canonical opener and closer of a frame."""
    return frame.open[0].replace("~", ""), frame.close[0].replace("~", "")


def _literals(spellings: Iterable[str]) -> tuple[str, ...]:
    found = {literal for spelling in spellings for literal in _BETWEEN.split(spelling) if literal}
    return tuple(sorted(found, key=lambda literal: (-len(literal), literal)))
