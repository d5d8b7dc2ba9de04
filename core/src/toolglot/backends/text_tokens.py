"""Tokens made of text, where an engine tells text only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from toolglot.backends.faults import ReplicaError
from toolglot.tokens.table import token_table
from toolglot.vocabulary import added_tokens


class TextTokens:
    """Makes tokens of text for one tokenizer: the longest that fit, one after the other.

    Their text is exactly what they were made of; the model may have written other tokens. The text of an added token
    is that token.
    """

    def __init__(self, tokenizer: Any) -> None:
        table = token_table(tokenizer)
        self.texts = table.texts
        self._plain = [(text, number) for number, text in enumerate(table.texts) if text and number not in table.added]
        self._added = {name: number for name, number in added_tokens(tokenizer).items() if name}
        self._markers = re.compile("|".join(map(re.escape, sorted(self._added, key=len, reverse=True))) or r"(?!)")
        self._beginnings = {name[:size] for name in self._added for size in range(1, len(name))}
        self._longest = max(map(len, self._beginnings), default=0)

    def encode(self, text: str) -> Iterator[int]:
        """The tokens of a text that is whole."""
        end = 0
        for found in self._markers.finditer(text):
            yield from self.encode_bytes(text[end : found.start()].encode())
            yield self._added[found[0]]
            end = found.end()
        yield from self.encode_bytes(text[end:].encode())

    def encode_bytes(self, text: bytes) -> Iterator[int]:
        """The tokens of bytes in which there is no added token. Raises ReplicaError: there are none for a byte."""
        ids, longest = self._ids
        place = 0
        while place < len(text):
            sizes = range(min(longest, len(text) - place), 0, -1)
            size = next((size for size in sizes if text[place : place + size] in ids), 0)
            if not size:
                raise ReplicaError(f"the engine wrote {text[place : place + 1]!r}, for which this model has no token")
            yield ids[text[place : place + size]]
            place += size

    def held(self, text: str) -> int:
        """How many characters at the end of a text may be the beginning of an added token."""
        sizes = range(min(self._longest, len(text)), 0, -1)
        return next((size for size in sizes if text[-size:] in self._beginnings), 0)

    @cached_property
    def _ids(self) -> tuple[dict[bytes, int], int]:
        """The first token of each text, and the length of the longest."""
        ids: dict[bytes, int] = {}
        for text, number in self._plain:
            ids.setdefault(text, number)
        return ids, max(map(len, ids), default=0)


class TokenStream:
    """The tokens of one output, of its text in any portions."""

    def __init__(self, tokens: TextTokens) -> None:
        self._tokens = tokens
        self._held = ""

    def feed(self, text: str) -> tuple[int, ...]:
        """The tokens that this text completes: none of what may still become an added token."""
        text = self._held + text
        end = len(text) - self._tokens.held(text)
        self._held = text[end:]
        return tuple(self._tokens.encode(text[:end]))

    def finish(self) -> tuple[int, ...]:
        """The tokens of what was held."""
        held, self._held = self._held, ""
        return tuple(self._tokens.encode(held))
