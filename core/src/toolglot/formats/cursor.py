"""The cursor: text as it arrives, read once from front to back by generators that wait where it ends.

A reader is a generator: it yields when the text at hand is used up, and goes on when more has come. Positions do not
survive a ``yield``, since what was read is dropped then.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

from toolglot.formats.layout import Layout
from toolglot.formats.markers import PARTIAL, SPACES, reach

T = TypeVar("T")
Reading: TypeAlias = Generator[None, None, T]
"""A reader: yields when it needs more text, returns what it found."""


class Failed(Exception):  # noqa: N818  # control flow, not an error
    """What was being read is no call; nothing of it has been announced."""


class Broken(Exception):  # noqa: N818  # control flow, not an error
    """A call that has been announced breaks its format here."""


class Stopped(Exception):  # noqa: N818  # control flow, not an error
    """A call that has been announced ends here, before it is whole; what was tried since is content."""


class Cut(Exception):  # noqa: N818  # control flow, not an error
    """The output ended here."""


class Cursor:
    """The text that has arrived and was not read yet.

    While something is only tried, what it reads is kept in ``trail``, so that it can be given back.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.text = ""
        self.at = 0
        self.eof = False
        self.trail: list[str] | None = None

    def extend(self, text: str) -> None:
        """More text has come; what was read is forgotten."""
        self.text = self.text[self.at :] + text
        self.at = 0

    def more(self) -> Reading[None]:
        """Wait for more text. Raises Cut when none comes."""
        if self.eof:
            raise Cut
        yield

    def peek(self) -> Reading[str]:
        """The next character, without reading it. Raises Cut when none comes."""
        while self.at == len(self.text):
            yield from self.more()
        return self.text[self.at]

    def slice(self, end: int) -> str:
        """Read up to ``end`` for good: it does not go into the trail."""
        piece = self.text[self.at : end]
        self.at = end
        return piece

    def take(self, end: int) -> str:
        """Read up to ``end``."""
        piece = self.slice(end)
        if self.trail is not None and piece:
            self.trail.append(piece)
        return piece

    def skip(self) -> Reading[None]:
        """Read whitespace, as much as comes; the end of the output is no error."""
        while True:
            self.take(reach(SPACES, self.text, self.at))
            if self.at < len(self.text) or self.eof:
                return
            yield

    def gap(self, canonical: str) -> Reading[None]:
        """Read whitespace where the format writes ``canonical``; exactly that in an exact layout.

        Raises what :meth:`wrong` says.
        """
        if self.layout.exact:
            yield from self.literal(canonical)
        else:
            yield from self.skip()

    def literal(self, text: str) -> Reading[None]:
        """Read exactly ``text``. Raises what :meth:`wrong` says."""
        while not self.text.startswith(text, self.at):
            if not text.startswith(self.text[self.at : self.at + len(text)]):
                raise self.wrong()
            yield from self.more()
        self.take(self.at + len(text))

    def match(self, spellings: tuple[str, ...], *, take: bool = True) -> Reading[bool]:
        """Read one of ``spellings`` (or with ``take`` false, only look). Whether there was one."""
        scan = self.layout.markers(spellings)
        while scan:
            hit = scan.at(self.text, self.at, eof=self.eof)
            if hit.end != PARTIAL:
                self.take(hit.end if take and hit.end >= 0 else self.at)
                return hit.end >= 0
            yield
        return False

    def wrong(self) -> Failed | Broken:
        """What to raise when the text is not of the format."""
        return Failed()
