"""Writing JSON arguments that are not JSON in the output: as the values come, with ``, `` and ``: ``, non-ASCII
unescaped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from toolglot.formats.cursor import Failed, Stopped

if TYPE_CHECKING:
    from toolglot.events import Repair
    from toolglot.formats.machine import Machine

_SPECIAL = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def escape(text: str) -> str:
    """A piece of a string's text as it stands between JSON's quotes. Lone surrogates become escapes."""
    return _SPECIAL.sub(_escaped, text)


def quote(text: str) -> str:
    """A whole string as JSON."""
    return f'"{escape(text)}"'


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    return _SHORT.get(char) or f"\\u{ord(char):04x}"


class Sink(Protocol):
    """Where synthesised JSON goes."""

    def write(self, json_text: str) -> None:
        """More of the JSON text; all that was read so far is in it."""

    def flush(self) -> None:
        """Pass on what was written; to be called before waiting for more of the output."""

    def expand(self, text: str) -> str:
        """Text of the output as the model wrote it."""

    def repaired(self, repair: Repair) -> None:
        """Something was put right in what was just read."""

    def malformed(self) -> None:
        """What was just read breaks the format, in a way that does not end the call."""

    def wrong(self) -> Exception:
        """What to raise where the output is not of the format."""


class Synthesis:
    """Writes the arguments of a machine's call: announces the call with the first piece, and restarts the tentative
    span at every piece, so that nothing is lost where the call stops.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.expand = machine.layout.binding.expand
        self._begun = False
        self._pieces: list[str] = []
        self._repairs: list[Repair] = []

    def write(self, json_text: str) -> None:
        if not self._begun:
            self._begin()
        self._pieces.append(json_text)
        self._machine.trail = []

    def flush(self) -> None:
        pieces = self._pieces
        if pieces:
            self._machine.arguments("".join(pieces) if len(pieces) > 1 else pieces[0])
            pieces.clear()

    def repaired(self, repair: Repair) -> None:
        if self._begun:
            self._machine.repaired(repair)
        else:
            self._repairs.append(repair)

    def malformed(self) -> None:
        if not self._machine.layout.exact:  # no grammar of an open object keeps a key from coming twice
            self._machine.malformed()

    @property
    def begun(self) -> bool:
        """Whether the call is announced."""
        return self._begun

    def wrong(self) -> Exception:
        return Stopped() if self._begun else Failed()

    def _begin(self) -> None:
        self._begun = True
        self._machine.begin()
        for repair in self._repairs:
            self._machine.repaired(repair)


class Collected:
    """Collects the JSON of a text that is whole."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(self._pieces)

    def write(self, json_text: str) -> None:
        self._pieces.append(json_text)

    def flush(self) -> None:
        """Nothing waits."""

    def expand(self, text: str) -> str:
        return text

    def repaired(self, repair: Repair) -> None:
        """Nobody is told."""

    def malformed(self) -> None:
        """Nobody is told."""

    def wrong(self) -> Exception:
        return Failed()
