"""A format made ready for reading: its markers compiled, once a format and vocabulary."""

from __future__ import annotations

from functools import cache, cached_property
from typing import NamedTuple

from toolglot.formats.binding import Binding
from toolglot.formats.declaration import Calls, Frame, WireFormat, exactly
from toolglot.formats.json_text import Delimiters
from toolglot.formats.markers import Marker, Scan


class Opening(NamedTuple):
    """A marker with which calls begin: of a section, of one call."""

    dialect: Calls
    section: bool
    tail: str
    """The canonical whitespace after it."""


class FenceOpen(NamedTuple):
    """The marker that opens the reasoning."""


class FenceClose(NamedTuple):
    """The marker that closes the reasoning."""


class Late(NamedTuple):
    """A closing marker that comes late, after text that was no part of the call."""


class Trailer(NamedTuple):
    """The turn's end, spelled as text."""


Sign = Opening | FenceOpen | FenceClose | Late | Trailer


class Layout:
    """What the machine must know of a format. ``exact``: read as the grammar writes it, without leniency."""

    def __init__(self, form: WireFormat, binding: Binding, *, exact: bool) -> None:
        form = exactly(form) if exact else form
        self.form = binding.form(form) if binding else form
        self.binding = binding
        self.exact = exact

    @cached_property
    def openings(self) -> list[tuple[str, Sign]]:
        """Every spelling with which calls may begin in free text."""
        found: list[tuple[str, Sign]] = []
        for dialect in self.form.calls:
            section = dialect.section
            if section:
                found += _openings(dialect, section, section=True)
            if section is None or section.optional:
                found += _openings(dialect, dialect.call, section=False)
        return found

    @cache  # noqa: B019  # a layout lives as long as its parser
    def prose(self, *, calls: bool, fence: bool, late: tuple[str, ...], inside: Calls | None) -> Scan[Sign]:
        """What may follow plain text: calls, the reasoning's fence, and what is left of a call or section that is
        not closed.
        """
        signs: list[tuple[str, Sign]] = list(self.openings) if calls else []
        if fence and self.form.reasoning:
            signs += [(spelling, FenceOpen()) for spelling in self.form.reasoning.fence.open]
        signs += [(spelling, Late()) for spelling in late]
        if inside and inside.section:
            signs += [(spelling, Late()) for spelling in inside.section.close]
            signs += _openings(inside, inside.call, section=False)
        signs += [(spelling, Trailer()) for spelling in self.form.trailer]
        return Scan(signs, exact=self.exact)

    @cache  # noqa: B019  # as above
    def thought(self, *, calls: bool) -> Scan[Sign]:
        """What may follow reasoning: its fence, and calls where they end it."""
        reasoning = self.form.reasoning
        assert reasoning is not None
        signs: list[tuple[str, Sign]] = [(spelling, FenceClose()) for spelling in reasoning.fence.close]
        if calls and reasoning.call_ends:
            signs += self.openings
        return Scan(signs, exact=False)  # whitespace at the fence is framing, whoever writes it

    @cache  # noqa: B019  # as above
    def markers(self, spellings: tuple[str, ...]) -> Scan[str]:
        """A scan for some of the format's own spellings."""
        return Scan(((spelling, spelling) for spelling in spellings), exact=self.exact)

    @cached_property
    def enders(self) -> Scan[str]:
        """The markers that end a call whose JSON is broken. Those that JSON itself could write do not count."""
        frames = [frame for calls in self.form.calls for frame in (calls.call, calls.section) if frame]
        found = {marker for frame in frames for marker in (*frame.open, *frame.close)}
        return Scan(((marker, marker) for marker in found if distinct(marker)), exact=self.exact)

    @cached_property
    def delimiters(self) -> Delimiters:
        """The regular expressions of the JSON scanner for these enders."""
        return Delimiters(self.enders.first)


def _openings(dialect: Calls, frame: Frame, *, section: bool) -> list[tuple[str, Sign]]:
    return [(spelling, Opening(dialect, section, Marker(spelling).tail)) for spelling in frame.open]


def distinct(marker: str) -> bool:
    """Whether a marker stands out: neither JSON nor plain prose begins like it."""
    text = marker.strip()
    return bool(text) and text[0] not in '"{}[],:;' and not text[0].isalnum()
