"""Templates with slots: ``functions.{name}:{index}<|tool_call_argument_begin|>``.

A slot ``{name}`` is text without whitespace that ends where the template goes on; ``{name:attr}`` is an attribute in
double or single quotes, or bare, and ``{name:xml}`` the same with XML's entities. Braces are doubled as in
``str.format``. Whitespace is as in markers: canonical for writing, lenient for reading, ``~`` for none written.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from string import Formatter
from typing import NamedTuple

from toolglot.formats.markers import GAP, MAX_GAP, NO, PARTIAL, PIECES, WHITESPACE

MAX_SLOT = 256
"""The longest name, key or id, in characters; it bounds what is held back."""

_XML = str.maketrans({"&": "&amp;", '"': "&quot;", "<": "&lt;"})


class Part(NamedTuple):
    """A piece of a template: fixed text, a gap (with its canonical whitespace), or a slot with its kind."""

    kind: str  # "text", "gap", "word", "attr" or "xml"
    value: str


class Filled(NamedTuple):
    """A template that matched: where it ends, and what its slots hold. ``end`` NO or PARTIAL: it did not."""

    end: int
    slots: Mapping[str, str]


def parts_of(template: str) -> tuple[Part, ...]:
    """The pieces of a template."""
    parts: list[Part] = []
    for text, slot, kind, _ in Formatter().parse(template):
        for piece in PIECES.findall(text):
            gap = piece[0] in GAP
            parts.append(Part("gap", piece.replace("~", "")) if gap else Part("text", piece))
        if slot is not None:
            parts.append(Part(kind or "word", slot))
    return tuple(parts)


def slot_of(parts: Sequence[Part]) -> int:
    """The number of the first slot, or of all parts where there is none."""
    return next((number for number, part in enumerate(parts) if part.kind not in ("text", "gap")), len(parts))


def behind_words(parts: Sequence[Part]) -> str:
    """The characters with which the template goes on behind its words."""
    texts = (next((value[0] for kind, value in parts[at:] if kind == "text"), "") for at in range(1, len(parts) + 1))
    return "".join(char for part, char in zip(parts, texts, strict=True) if part.kind == "word")


def fill(parts: Iterable[Part], slots: Mapping[str, str]) -> str:
    """Write a template canonically."""
    written = []
    for kind, value in parts:
        match kind:
            case "text" | "gap":
                written.append(value)
            case "word":
                written.append(slots[value])
            case "attr":
                written.append(f'"{slots[value]}"')
            case _:
                written.append(f'"{slots[value].translate(_XML)}"')
    return "".join(written)


class Template:
    """A template made ready for reading. ``stops`` are the characters with which what follows it can begin."""

    def __init__(self, parts: tuple[Part, ...], stops: str = "", *, exact: bool = False) -> None:
        self.parts = parts
        self._exact = exact
        pieces = [self._pattern(number, stops) for number in range(len(parts))]
        self._whole = re.compile("".join(whole for whole, _ in pieces), re.DOTALL)
        self._begun = re.compile(_begun(pieces), re.DOTALL)

    def match(self, text: str, at: int, *, eof: bool) -> Filled:
        """Match at ``at``; PARTIAL when more text may make it match, also where no more comes."""
        found = self._whole.match(text, at)
        if found is not None and not (found.end() == len(text) and self._goes_on(text, eof=eof)):
            return Filled(found.end(), self._slots(found))
        begun = self._begun.fullmatch(text, at) is not None
        return Filled(PARTIAL if begun else NO, {})

    def _goes_on(self, text: str, *, eof: bool) -> bool:
        """Whether what matched up to the end of the text may be only a part: a word, and whitespace that may grow."""
        kinds = [part.kind for part in self.parts[-2:]]
        if kinds[-1:] != ["gap"]:
            return kinds[-1:] == ["word"]
        return not eof or (kinds[0] == "word" and text[-1] not in WHITESPACE)

    def _slots(self, found: re.Match[str]) -> dict[str, str]:
        slots = {}
        for number, (kind, value) in enumerate(self.parts):
            if kind not in ("text", "gap"):
                text = next((group for group in _groups(found, number, kind) if group is not None), "")
                slots[value] = html.unescape(text) if kind == "xml" else text
        return slots

    def _pattern(self, number: int, stops: str) -> tuple[str, str]:
        """The regular expressions of a part: for the whole of it, and for any beginning of it."""
        kind, value = self.parts[number]
        match kind:
            case "text":
                return re.escape(value), _prefix(value)
            case "gap" if self._exact:
                return re.escape(value), _prefix(value)
            case "gap":
                return f"[ \\t\\r\\n]{{0,{MAX_GAP}}}+", f"[ \\t\\r\\n]{{0,{MAX_GAP}}}+"
            case "word":
                return self._word(number, stops)
        ahead = re.escape(self._directly_ahead(number))
        quotes = '"' if self._exact else "\"'"
        bare = "" if self._exact else f"|(?P<bare{number}>[^\\s\"'>{ahead}]{{1,{MAX_SLOT}}}+)"
        closed = "|".join(f"{q}(?P<quoted{number}{ord(q)}>[^{q}]{{0,{MAX_SLOT}}}+){q}" for q in quotes)
        begun = "|".join(f"{q}[^{q}]{{0,{MAX_SLOT}}}+" for q in quotes)
        return f"(?:{closed}{bare})", f"(?:(?:{begun}|[^\\s\"'>{ahead}]{{1,{MAX_SLOT}}}+)?)"

    def _directly_ahead(self, number: int) -> str:
        """The character with which the template goes on behind a slot, without whitespace between."""
        part = self.parts[number + 1] if number + 1 < len(self.parts) else Part("gap", "")
        return part.value[0] if part.kind == "text" else ""

    def _ahead(self, number: int, stops: str) -> str:
        """The characters with which the template goes on behind a slot."""
        return next((value[0] for kind, value in self.parts[number + 1 :] if kind == "text"), stops)

    def _last_of(self, number: int, stops: str) -> str | None:
        """For a word before ``:{index}``: the colons in it, behind which there is more than an index."""
        following = self.parts[number + 1 : number + 3]
        if [part.value for part in following] != [":", "index"]:
            return None
        behind = re.escape(self._ahead(number + 2, stops))
        return f":(?![0-9]{{1,20}}+[ \\t\\r\\n]{{0,{MAX_GAP}}}+(?:[{behind}]|\\Z))"

    def _word(self, number: int, stops: str) -> tuple[str, str]:
        if self.parts[number].value == "index":
            characters = "[0-9]"
        else:
            ahead = self._ahead(number, stops)
            characters = f"[^{re.escape(WHITESPACE + ahead + stops)}\x00-\x1f]"
            if self.parts[number].value == "key":  # the name of a parameter may hold single spaces
                characters = f"(?:{characters}| (?={characters}|\\Z))"
            if (last := self._last_of(number, stops)) is not None:
                characters = f"(?:{characters}|{last})"
        # Atomic groups: Python before 3.11.5 gets possessive repeats of alternatives wrong.
        return f"(?P<word{number}>(?>{characters}{{1,{MAX_SLOT}}}))", f"(?>{characters}{{0,{MAX_SLOT}}})"


def _groups(found: re.Match[str], number: int, kind: str) -> list[str | None]:
    if kind == "word":
        return [found[f"word{number}"]]
    groups = found.groupdict()
    return [groups.get(f"{name}{number}{suffix}") for name, suffix in (("quoted", 34), ("quoted", 39), ("bare", ""))]


def _prefix(text: str) -> str:
    pattern = ""
    for char in reversed(text):
        pattern = f"(?:{re.escape(char)}{pattern})?"
    return pattern


def _begun(pieces: list[tuple[str, str]]) -> str:
    pattern = ""
    for whole, begun in reversed(pieces):
        pattern = f"(?:{whole}{pattern}|{begun})" if pattern else f"(?:{whole}|{begun})"
    return pattern
