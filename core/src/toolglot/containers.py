"""How many objects and lists there are in JSON, before they are made: making millions of them stops every thread."""

from __future__ import annotations

from collections.abc import Sequence

MAX_CONTAINERS = 100_000
"""How many objects and lists are read at once."""


def has_too_many(texts: Sequence[bytes]) -> bool:
    """Whether these JSON texts have more than :data:`MAX_CONTAINERS` objects and lists together."""
    if sum(map(_opened, texts)) <= MAX_CONTAINERS:  # with the brackets in strings
        return False
    return sum(_opened(_without_strings(text)) for text in texts) > MAX_CONTAINERS


def _without_strings(text: bytes) -> bytes:
    unescaped = text.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(unescaped.split(b'"')[::2])


def _opened(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")
