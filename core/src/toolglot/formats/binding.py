"""Marker tokens as single characters.

Where the tokenizer has a marker as one token, the marker is that token and nothing else: text that merely spells it
is text. To keep one machine for text and tokens, each bound token is one private code unit in the format and in the
text that is read: a lone low surrogate, which no UTF-8 decoder yields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from toolglot.formats.declaration import Calls, Frame, WireFormat, spellings
from toolglot.requests import Tokenizer

_FIRST_UNIT = 0xDC00
_UNITS = re.compile("[\udc00-\udcff]")


class Binding:
    """The tokens of a vocabulary that are markers of a format, each with its private code unit."""

    def __init__(self, form: WireFormat, tokens: Mapping[str, int], tokenizer: Tokenizer | None = None) -> None:
        markers = "\n".join(marker_spellings(form))
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

    def split(self, text: str) -> list[str | int]:
        """Text cut at the markers that are tokens, which stand in it by id."""
        pieces: list[str | int] = [text]
        for token, number in self.ids.items():
            cut = [
                one for piece in pieces for one in (_cut(piece, token, number) if isinstance(piece, str) else [piece])
            ]
            pieces = cut
        return [piece for piece in pieces if piece != ""]

    def form(self, form: WireFormat) -> WireFormat:
        """The format with each bound token as its unit."""
        return _encoded(form, self.encode)

    def text(self, text: str, token_ids: Sequence[int], marks: Sequence[tuple[int, int]]) -> str:
        """Text as it came, with each marker token as its unit."""
        if not text.isascii():
            text = _UNITS.sub("\N{REPLACEMENT CHARACTER}", text)
        if not marks and not self._texts.keys().isdisjoint(token_ids):
            marks = self._marks(text, token_ids)
        pieces, at = [], 0
        for offset, number in marks:
            literal = self._texts.get(number)
            if literal is not None and offset >= at and text.startswith(literal, offset):
                pieces += [text[at:offset], self.units[literal]]
                at = offset + len(literal)
        return "".join((*pieces, text[at:])) if pieces else text

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


def _cut(text: str, token: str, number: int) -> list[str | int]:
    pieces: list[str | int] = []
    for piece in text.split(token):
        pieces += [piece, number]
    return pieces[:-1]


def marker_spellings(form: WireFormat) -> set[str]:
    """Every spelling of every marker of a format."""
    frames = [frame for calls in form.calls for frame in (calls.call, calls.section) if frame]
    frames += [form.reasoning.fence] if form.reasoning else []
    frames += [form.content] if form.content else []
    bodies = {marker for calls in form.calls for marker in (*calls.body.markers, calls.separator)}
    return spellings(frames) | bodies | {form.between, *form.trailer}


def _encoded(form: WireFormat, encode: Callable[[str], str]) -> WireFormat:
    """A copy of a format in which every marker is encoded."""

    def frame(value: Frame) -> Frame:
        return replace(value, open=tuple(map(encode, value.open)), close=tuple(map(encode, value.close)))

    def dialect(value: Calls) -> Calls:
        section = frame(value.section) if value.section else None
        separator = encode(value.separator)
        return replace(
            value, body=value.body.encoded(encode), call=frame(value.call), section=section, separator=separator
        )

    reasoning = form.reasoning and replace(form.reasoning, fence=frame(form.reasoning.fence))
    content = form.content and frame(form.content)
    trailer = tuple(map(encode, form.trailer))
    return replace(
        form,
        calls=tuple(map(dialect, form.calls)),
        reasoning=reasoning,
        content=content,
        between=encode(form.between),
        trailer=trailer,
    )
