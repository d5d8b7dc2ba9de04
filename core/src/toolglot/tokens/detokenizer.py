"""One output's tokens to text, piece by piece."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from toolglot.tokens.table import token_table

_UTF8 = codecs.getincrementaldecoder("utf-8")


class Piece(Struct, frozen=True):
    """Text that is complete. ``marks`` are (offset, token id) of the added tokens in it."""

    text: str
    token_ids: tuple[int, ...] = ()
    """The ids fed in this call, hidden ones too; the last one's text may come with a later piece."""
    marks: tuple[tuple[int, int], ...] = ()


class Detokenizer:
    """Makes the text of one output from its token ids, in any portions.

    The pieces together are what ``tokenizer.decode(ids, skip_special_tokens=False)`` returns for all ids but the hidden
    ones, however the ids are split. Bytes that are no UTF-8 become U+FFFD; what may still become a character is held
    until the next id. Ids that the tokenizer does not have, negative ones too, stand for nothing.

    One difference: where a run of byte-fallback tokens is not UTF-8 as a whole, ``decode`` turns every byte of the run
    into a U+FFFD; this class only the bytes that are wrong (one U+FFFD for each cut character), as it cannot take back
    what it has given out.

    Raises:
        ModelError: the tokenizer is of a kind that is not supported (see :func:`toolglot.tokens.table.token_table`).
    """

    def __init__(self, tokenizer: Any, *, hidden: frozenset[int] = frozenset()) -> None:
        self._table = token_table(tokenizer)
        self._hidden = hidden
        self._decoder = _UTF8("replace")
        self._strip, self._strips_left = self._table.strip
        self._begun = False

    def feed(self, token_ids: Sequence[int]) -> Piece:
        """The text that these ids complete."""
        table, hidden = self._table, self._hidden
        texts: list[str] = []
        marks: list[tuple[int, int]] = []
        length = 0
        for token in token_ids:
            if token in hidden or not 0 <= token < len(table.texts):
                continue
            if token in table.added:  # what was held is no character: it ends before this token's text
                length += self._add(texts, b"", final=True)
                marks.append((length, token))
            length += self._add(texts, self._bytes(token))
        return Piece("".join(texts), tuple(token_ids), tuple(marks))

    def finish(self) -> Piece:
        """What is still held: nothing, or U+FFFD for a character that was cut."""
        texts: list[str] = []
        self._add(texts, b"", final=True)
        return Piece("".join(texts))

    def _bytes(self, token: int) -> bytes:
        text = self._table.texts[token]
        if not self._begun:
            text = self._table.opening.get(token, text)
            self._begun = True
        return text

    def _add(self, texts: list[str], raw: bytes, *, final: bool = False) -> int:
        text = self._decoder.decode(raw, final)
        while self._strips_left and text:
            if text.startswith(self._strip):
                text, self._strips_left = text[1:], self._strips_left - 1
            else:
                self._strips_left = 0
        texts.append(text)
        return len(text)
