"""Delimiters of a region: literals, and the regular expressions that say no more than some spellings do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

_GAP = "~"
_SPACES = {"s": " ", "n": "\n", "r": "\r", "t": "\t"}
_ANCHORS = {"^", "$", r"\A", r"\Z", r"\b"}
_PIECES = re.compile(r"\\.|\[.[^\]]*\]|.", re.DOTALL)
"""A sign, an escape, or a class, in which parentheses are no parentheses."""
_MOST = 32
"""How many spellings a pattern may have."""


class MisfitError(Exception):
    """No wire format says what a ``response_template`` says."""


def spellings(field: Mapping[str, Any], which: str) -> tuple[str, ...]:
    """The spellings of a field's ``open`` or ``close``; one that is empty where it has none. They hold no slots.

    Raises:
        MisfitError: there are no such spellings.
    """
    found = templates(field, which)
    for template in found:
        if "{" in template.replace("{{", ""):
            raise MisfitError(f"`{which}_pattern` captures a part of the delimiter")
    return tuple(template.replace("{{", "{").replace("}}", "}") for template in found)


def templates(field: Mapping[str, Any], which: str) -> tuple[str, ...]:
    """As :func:`spellings`, as templates with a slot for each named group."""
    pattern, literal = field.get(f"{which}_pattern"), field.get(which)
    if pattern is None and literal is None:
        return ("",)
    texts = (literal,) if isinstance(literal, str) else literal
    found = _Pattern(pattern).spellings() if pattern is not None else [_literal(text) for text in texts or ()]
    return tuple(dict.fromkeys(text for text in found if text)) or ("",)


def pattern_templates(pattern: str) -> tuple[str, ...]:
    """The templates of a regular expression on its own."""
    return templates({"open_pattern": pattern}, "open")


def _literal(text: str) -> str:
    if _GAP in text:
        raise MisfitError(f"the delimiter {text!r} holds a {_GAP!r}")
    return text.replace("{", "{{").replace("}", "}}")


class _Pattern:
    """Reads a regular expression from front to back."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def spellings(self) -> list[str]:
        """All that it matches, with ``~`` for whitespace that may be there or not."""
        found = self._alternatives()
        if self._at < len(self._pattern):
            raise self._misfit()
        return found

    def _alternatives(self) -> list[str]:
        found = self._sequence()
        while self._take("|"):
            found += self._sequence()
        return found

    def _sequence(self) -> list[str]:
        pieces: list[list[str]] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            pieces.append(self._repeated(self._atom()))
        found = ["".join(one) for one in product(*pieces)]
        if len(found) > _MOST:
            raise MisfitError(f"the pattern {self._pattern!r} has more than {_MOST} spellings")
        return found

    def _repeated(self, atom: list[str]) -> list[str]:
        """An atom, with the sign behind it that says how often it comes."""
        sign = self._take(*"?*+{")
        if not sign:
            return atom
        blank = atom[0].isspace()
        self._take("?", "+")
        if blank and sign in "?*":
            return [_GAP]
        if blank and sign == "+":
            return atom
        if sign == "?":
            return ["", *atom]
        raise self._misfit()

    def _atom(self) -> list[str]:
        if self._take("(?:"):
            return self._group()
        if self._take("(?P<"):
            return self._slot()
        if self._take("["):
            return [self._blanks()]
        if self._take(*_ANCHORS):
            return [""]
        if self._take("\\"):
            return [self._escape()]
        if self._pattern[self._at] in ".(*+?{":
            raise self._misfit()
        self._at += 1
        return [_literal(self._pattern[self._at - 1])]

    def _group(self) -> list[str]:
        found = self._alternatives()
        if not self._take(")"):
            raise self._misfit()
        return found

    def _slot(self) -> list[str]:
        """A named group: whatever it matches is what the slot holds."""
        name, _, rest = self._pattern[self._at :].partition(">")
        depth, end = 1, 0
        for piece in _PIECES.finditer(rest):
            depth += {"(": 1, ")": -1}.get(piece[0], 0)
            end = piece.end()
            if not depth:
                break
        self._at += len(name) + 1 + end
        return [f"{{{name}}}"]

    def _blanks(self) -> str:
        """A class of nothing but whitespace."""
        inside, closed, _ = self._pattern[self._at :].partition("]")
        characters = inside.replace("\\s", " ").replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")
        if not closed or not characters.isspace():
            raise self._misfit()
        self._at += len(inside) + 1
        return characters[0]

    def _escape(self) -> str:
        char = self._pattern[self._at : self._at + 1]
        self._at += 1
        if char in _SPACES:
            return _SPACES[char]
        if not char or char.isalnum():
            raise self._misfit()
        return _literal(char)

    def _take(self, *texts: str) -> str:
        for text in texts:
            if self._pattern.startswith(text, self._at):
                self._at += len(text)
                return text
        return ""

    def _misfit(self) -> MisfitError:
        return MisfitError(f"the pattern {self._pattern!r} is no spelling from {self._pattern[self._at :][:20]!r} on")
