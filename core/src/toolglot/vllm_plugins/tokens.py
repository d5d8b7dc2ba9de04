"""Token ids for text that came without them, and a tokenizer for when there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

_CHARACTERS = 0x110000
_WORDS = re.compile(r"\s?[^\W_]{1,8}|.", re.DOTALL)
"""About what tokens are: parsers expect their text in such portions, and may take no other."""


class _AnyToken(dict[str, int]):
    """A vocabulary that has every text that it is asked for."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self._next = first

    def __missing__(self, text: str) -> int:
        self[text] = number = self._next
        self._next += 1
        return number

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self[text] >= 0

    def get(self, text: str, default: Any = None) -> Any:  # noqa: ARG002  # it has everything
        return self[text]


class TextTokenizer:
    """Has one token for each marker and one for each other character.

    ``markers`` are their texts with ids. None: they are not known, and whatever the vocabulary is asked for is one.
    """

    def __init__(self, markers: Mapping[str, int] | None) -> None:
        self._first = max((markers or {}).values(), default=-1) + 1
        self.eos_token_id = self._first + _CHARACTERS
        self.markers: dict[str, int] = _AnyToken(self.eos_token_id + 1) if markers is None else dict(markers)

    def get_vocab(self) -> dict[str, int]:
        return self.markers

    @property
    def vocab(self) -> dict[str, int]:
        return self.markers

    def encode(self, text: str, **_: Any) -> list[int]:
        cutter = TokenCutter(self.markers, lambda plain: [self._first + ord(char) for char in plain])
        return [number for _, ids in cutter.feed(text, last=True) for number in ids]

    def decode(self, ids: int | Iterable[int], **_: Any) -> str:
        texts = {number: text for text, number in self.markers.items()}
        numbers = [ids] if isinstance(ids, int) else ids
        return "".join(texts[number] if number in texts else self._character(number) for number in numbers)

    def convert_tokens_to_ids(self, tokens: str | list[str]) -> Any:
        return self.markers.get(tokens) if isinstance(tokens, str) else [self.markers.get(one) for one in tokens]

    def _character(self, number: int) -> str:
        return chr(number - self._first) if number < self.eos_token_id else ""


class TokenCutter:
    """Cuts text that arrives in any pieces into ones of about a token each; each marker is a token of its own."""

    def __init__(self, markers: Mapping[str, int], encode: Callable[[str], list[int]]) -> None:
        self._markers = markers
        self._encode = encode
        longest = sorted(filter(None, markers), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest)) or "(?!)")
        self._starts = {marker[:length] for marker in longest for length in range(1, len(marker))}
        self._longest = max(map(len, longest), default=0)
        self._held = ""

    def feed(self, text: str, *, last: bool = False) -> Iterator[tuple[str, list[int]]]:
        """The pieces that are certain, with their ids. What may become a marker waits, but not at the ``last``."""
        text, at = self._held + text, 0
        for match in self._pattern.finditer(text):
            yield from self._plain(text[at : match.start()])
            yield match[0], [self._markers[match[0]]]
            at = match.end()
        end = len(text) if last else self._certain(text, at)
        self._held = text[end:]
        yield from self._plain(text[at:end])

    def _plain(self, text: str) -> Iterator[tuple[str, list[int]]]:
        for word in _WORDS.findall(text):
            yield word, self._encode(word)

    def _certain(self, text: str, at: int) -> int:
        places = range(max(at, len(text) - self._longest + 1), len(text))
        return next((place for place in places if text[place:] in self._starts), len(text))
