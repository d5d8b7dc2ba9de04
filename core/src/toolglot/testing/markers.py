"""The markers of a format, as the kit sees them: the literal texts between whitespace."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from toolglot.formats import Frame, WireFormat

_GAP = re.compile(r"[ \t\r\n~]+")


class Markers(Struct, frozen=True):
    """The markers of one format, longest first."""

    every: tuple[str, ...]
    openers: tuple[str, ...]
    """Those with which calls begin in free text."""
    closers: tuple[str, ...]
    """Those with which calls end."""

    @classmethod
    def of(cls, form: WireFormat) -> Markers:
        """The markers of a declaration."""
        frames = [frame for calls in form.calls for frame in (calls.call, calls.section) if frame]
        fences = [form.reasoning.fence] if form.reasoning else []
        found = [text for frame in (*frames, *fences) for text in (*frame.open, *frame.close)]
        return cls(
            _cores((*found, *form.trailer)),
            _cores(text for frame in frames for text in frame.open),
            _cores(text for frame in frames for text in frame.close),
        )

    def count(self, text: str) -> int:
        """How many markers ``text`` holds."""
        return sum(text.count(marker) for marker in self.every)


def canonical(frame: Frame) -> tuple[str, str]:
    """The canonical opener and closer of a frame."""
    return frame.open[0].replace("~", ""), frame.close[0].replace("~", "")


def _cores(spellings: Iterable[str]) -> tuple[str, ...]:
    cores = {piece for spelling in spellings for piece in _GAP.split(spelling) if piece}
    return tuple(sorted(cores, key=lambda core: (-len(core), core)))
