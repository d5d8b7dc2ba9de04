"""Marker tokens as single characters.

Where the tokenizer has a marker as one token, the marker is that token and nothing else: text that merely spells it
is text. To keep one machine for text and tokens, each bound token is one private code unit in the format and in the
text that is read: a lone low surrogate, which no UTF-8 decoder yields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from toolglot.formats.declaration import Frame, WireFormat, spellings
from toolglot.requests import Tokenizer

_FIRST_UNIT = 0xDC00
_UNITS = re.compile("[\udc00-\udcff]")


class Binding:
    """The tokens of a vocabulary that are markers of a format, each with its private code unit."""

    def __init__(self, form: WireFormat, tokens: Mapping[str, int], tokenizer: Tokenizer | None = None) -> None:
        markers = "\n".join(_spellings(form))
        texts = [text for text in tokens if len(text) > 2 and not text.isspace() and text in markers]
        texts.sort(key=len, reverse=True)
        self.units = {text: chr(_FIRST_UNIT + number) for number, text in enumerate(texts)}
        self.ids = {text: tokens[text] for text in texts}
        self._texts = {number: text for text, number in self.ids.items()}
        self._expand = str.maketrans({unit: text for text, unit in self.units.items()})
        self._tokenizer = tokenizer

    def __bool__(self) -> bool:
        return bool(self.units)

    @property
    def token_ids(self) -> frozenset[int]:
        """The ids of the bound tokens."""
        return frozenset(self._texts)

    def encode(self, spelling: str) -> str:
        """A spelling with each bound token as its unit."""
        for text, unit in self.units.items():
            spelling = spelling.replace(text, unit)
        return spelling

    def token(self, spelling: str) -> int | None:
        """The id of the token that ``spelling`` is as a whole, if it is one."""
        return self.ids.get(spelling)

    def form(self, form: WireFormat) -> WireFormat:
        """The format with each bound token as its unit."""
        bound: WireFormat = _replaced(form, self.encode)
        return bound

    def text(self, text: str, token_ids: Sequence[int], marks: Sequence[tuple[int, int]]) -> str:
        """Text as it came, with each marker token as its unit."""
        if not text.isascii():
            text = _UNITS.sub("\N{REPLACEMENT CHARACTER}", text)
        if not marks and not self._texts.keys().isdisjoint(token_ids):
            marks = self._marks(text, token_ids)
        for offset, number in reversed(marks):
            literal = self._texts.get(number)
            if literal is not None and text.startswith(literal, offset):
                text = text[:offset] + self.units[literal] + text[offset + len(literal) :]
        return text

    def expand(self, text: str) -> str:
        """Text with each unit as the token's text again."""
        return text if text.isascii() else text.translate(self._expand)

    def _marks(self, text: str, token_ids: Sequence[int]) -> list[tuple[int, int]]:
        marks, at, pending = [], 0, []
        for number in token_ids:
            literal = self._texts.get(number)
            if literal is None:
                pending.append(number)
                continue
            if pending and self._tokenizer is not None:
                ahead = at + len(self._tokenizer.decode(pending, skip_special_tokens=False))
                at = ahead if text.startswith(literal, ahead) else at
            pending = []
            found = text.find(literal, at)
            if found >= 0:
                marks.append((found, number))
                at = found + len(literal)
        return marks


def _spellings(form: WireFormat) -> set[str]:
    frames = [frame for calls in form.calls for frame in (calls.call, calls.section) if frame]
    if form.reasoning:
        frames.append(form.reasoning.fence)
    return spellings(frames) | set(form.trailer)


def _replaced(value: Any, change: Any) -> Any:
    """A copy of a declaration in which every marker is changed."""
    match value:
        case Frame(opens, closes, optional):
            return Frame(tuple(map(change, opens)), tuple(map(change, closes)), optional)
        case WireFormat():
            calls = tuple(_replaced(one, change) for one in value.calls)
            return replace(
                value,
                calls=calls,
                reasoning=_replaced(value.reasoning, change),
                trailer=tuple(map(change, value.trailer)),
            )
        case Struct() if any(isinstance(one, Frame) for one in asdict(value).values()):
            frames = {name: _replaced(one, change) for name, one in asdict(value).items() if isinstance(one, Frame)}
            return replace(value, **frames)
    return value
