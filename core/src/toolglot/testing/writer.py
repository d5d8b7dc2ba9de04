"""Random outputs: what models write, and what nobody should.

They are drawn from one source of randomness rather than from nested Hypothesis strategies: those take most of the time,
and spend most of their examples on variations of a few.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from random import Random

from toolglot.events import Call, Finish
from toolglot.formats.synthesis import escape
from toolglot.requests import Request, Tool
from toolglot.testing.markers import Markers

NAME = string.ascii_letters + string.digits + "_-."
SENTINELS = "".join(map(chr, range(0x4E00, 0x4E40)))
"""Characters that stand in no marker and no syntax, so that one can see where each of them went."""
_SPACE = ("", "", "", " ", "\n", "\n\n  ", "\t", "\r\n")
_ESCAPES = (r"\n", r"\t", r"\"", r"\\", r"\/", r"\u00e9", r"\u0000", r"\ud83d\ude00", r"\\\"", r"\u005c")
_NUMBERS = (
    "0",
    "-0",
    "1",
    "-12.50",
    "1e5",
    "2E-3",
    "1E400",
    "123456789012345678901234567890",
    "0.10000000000000000555",
)
_SCALARS = ("true", "false", "null", '""', "{}", "[]", "{ }", "[\n]")
_PLAIN = "abcdefgABCDEFG 0123456789.,;:!?-_()'/*#äßéñЖ東京\u00a0\u2028\u200d🚀"
_SYNTAX = '<>{}[]|"\\`=&$'
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|\w+|\s+|.', re.DOTALL)


class Writer:
    """Writes random things; ``size`` is about how many pieces they have."""

    def __init__(self, random: Random, size: int, markers: Markers) -> None:
        self.random = random
        self._size = size
        self._markers = markers
        self._halves = [half for text in markers.texts for at in range(1, len(text)) for half in (text[:at], text[at:])]

    # -- calls

    def name(self) -> str:
        """A tool's name: letters, digits, ``_``, ``-`` and ``.``."""
        return self._text(NAME, 1, 12)

    def call(self) -> Call:
        """A call of any tool with any arguments."""
        return Call("", self.name(), self.json_object())

    def json_object(self, depth: int = 0) -> str:
        """A JSON object as text: nested, oddly spaced, with escapes, markers, duplicate keys, big numbers in it."""
        members = [self._member(depth) for _ in range(self._count(depth))]
        return self._joined("{}", [*members, *(members[:1] if self._rarely() else ())])

    def _member(self, depth: int) -> str:
        return f"{self._string()}{self._space()}:{self._space()}{self._value(depth + 1)}"

    def _value(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.4:
            return self._string()
        if kind < 0.7 or depth > 3:
            return self.random.choice(_NUMBERS + _SCALARS)
        if kind < 0.85:
            return self.json_object(depth)
        return self._joined("[]", [self._value(depth + 1) for _ in range(self._count(depth))])

    def _joined(self, brackets: str, items: Sequence[str]) -> str:
        before, after = self._space(), self._space()
        return brackets[0] + before + f"{after},{before}".join(items) + after + brackets[1]

    def _string(self) -> str:
        return '"' + "".join(self._string_piece() for _ in range(self._count(0))) + '"'

    def _string_piece(self) -> str:
        kind = self.random.random()
        if kind < 0.6:
            return self._text(_PLAIN + "<>{}[]|`=&$", 0, 8)
        return self.random.choice(_ESCAPES) if kind < 0.8 else escape(self._one_of(self._markers.texts))

    # -- text

    def words(self) -> str:
        """Prose with everything in it that is special somewhere, and halves of markers, but no whole marker."""
        while True:
            text = "".join(self._word() for _ in range(self._count(0)))
            if not self._markers.found(text):
                return text

    def _word(self) -> str:
        kind = self.random.random()
        if kind < 0.4:
            return self._text(_PLAIN, 0, 12)
        if kind < 0.7:
            return self._space()
        return self._text(_SYNTAX, 0, 3) if kind < 0.85 else self._one_of(self._halves)

    def mangled(self, texts: Sequence[str]) -> str:
        """Slices of ``texts`` in another order, with markers, signs and sentinels in them, and parts left out."""
        pieces = [self._slice(self._one_of(texts)) for _ in range(1 + self._count(0))]
        text = "".join(piece + self._noise() for piece in pieces)
        for _ in range(self.random.choice((0, 0, 1, 1, 2, 3))):
            at = self.random.randint(0, len(text))
            text = text[:at] + self._noise() + text[at + self.random.choice((0, 0, 1, 3)) :]
        return text

    def _slice(self, text: str) -> str:
        """The whole text, or some words, strings, spaces and signs of it in a row."""
        if self.random.random() < 0.4:
            return text
        tokens = _TOKENS.findall(text)
        start = self.random.choice((0, 0, self.random.randint(0, len(tokens))))
        return "".join(tokens[start : start + self.random.randint(1, 20)])

    def _noise(self) -> str:
        kind = self.random.random()
        if kind < 0.3:
            return ""
        if kind < 0.5:
            return self.random.choice(SENTINELS)
        choices = (_SPACE, _SYNTAX, self._halves, self._markers.texts)
        return self._one_of(self.random.choice(choices))

    # -- how it is read

    def request(self, tools: Sequence[Tool]) -> Request:
        """A request that differs in all that changes how an output is read."""
        return Request(
            tools=() if self._rarely() else tuple(tools),
            tool_choice="none" if self._rarely() else "auto",
            reasoning_open=self._rarely(),
            constrained=self.random.random() < 0.3,
            repair=not self._rarely(),
            unknown_tools="content" if self._rarely() else "call",
        )

    def finish(self) -> Finish:
        """Why an output ended."""
        return self.random.choice(("stop", "length"))

    def spelled(self) -> list[int]:
        """The numbers of those markers that are only spelled where markers are tokens."""
        return [number for number in range(20) if self._rarely()]

    # -- helpers

    def _rarely(self) -> bool:
        return self.random.random() < 0.15

    def _count(self, depth: int) -> int:
        return self.random.randint(0, max(1, self._size - 2 * depth))

    def _text(self, alphabet: str, least: int, most: int) -> str:
        return "".join(self.random.choices(alphabet, k=self.random.randint(least, most)))

    def _space(self) -> str:
        return self.random.choice(_SPACE)

    def _one_of(self, found: Sequence[str]) -> str:
        return self.random.choice(found) if found else ""
