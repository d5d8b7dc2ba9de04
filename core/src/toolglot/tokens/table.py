"""The bytes that each token of a tokenizer stands for: what its decoder does, worked out once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import Struct

from toolglot.errors import ModelError
from toolglot.vocabulary import added_tokens

_Step: TypeAlias = Callable[[str | bytes], str | bytes]


class TokenTable(Struct, frozen=True):
    """The bytes of each token, and what the decoder does at the start of a text."""

    texts: tuple[bytes, ...]
    """By id; empty for an id that has no token."""
    added: frozenset[int]
    """The ids of the added tokens."""
    opening: Mapping[int, bytes]
    """What stands for a token that comes first, where that differs."""
    strip: tuple[str, int] = ("", 0)
    """A character, and how many of it are taken off the start of the whole text."""


def token_table(tokenizer: Any) -> TokenTable:
    """The table of one of transformers' fast tokenizers or tokenizers' own, kept for the next call, or the
    ``token_table`` that the tokenizer has itself.

    Raises:
        ModelError: the tokenizer is no fast one, or its decoder is of a kind that this module does not know.
    """
    own: TokenTable | None = getattr(tokenizer, "token_table", None)
    if own is not None:
        return own
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(backend, "decoder"):
        raise ModelError(f"{type(tokenizer).__name__} is no fast tokenizer; the model needs a tokenizer.json")
    return _table(backend, backend.get_vocab_size(with_added_tokens=True))


@lru_cache(maxsize=8)
def _table(backend: Any, size: int) -> TokenTable:  # noqa: ARG001  # the size is part of the key: tokens can be added later
    names = {number: name for name, number in backend.get_vocab(with_added_tokens=True).items()}
    links = _links(backend)
    steps, strip = _steps(links)
    texts = {number: _spell(name, steps) for number, name in names.items()}
    return TokenTable(
        texts=tuple(texts.get(number, b"") for number in range(max(names, default=-1) + 1)),
        added=frozenset(added_tokens(backend).values()),
        opening=_opening(names, links, steps),
        strip=strip,
    )


def _links(backend: Any) -> list[dict[str, Any]]:
    """The decoders that follow one another, as tokenizer.json spells them."""
    state: dict[str, Any] = json.loads(backend.decoder.__getstate__()) if backend.decoder else {"type": "none"}
    return state["decoders"] if state["type"] == "Sequence" else [state]


def _steps(links: Iterable[Mapping[str, Any]]) -> tuple[list[_Step], tuple[str, int]]:
    """What is done to each token in turn, and what is stripped from the start of the text."""
    steps: list[_Step] = []
    strip = ("", 0)
    fused = False
    for link in links:
        match link:
            case {"type": "ByteLevel"}:
                steps.append(_byte_level)
            case {"type": "ByteFallback"}:
                steps.append(_byte_fallback)
            case {"type": "Replace", "pattern": {"String": old}, "content": new}:
                steps.append(_replace(old, new))
            case {"type": "Metaspace", "replacement": old}:
                steps.append(_replace(old, " "))
            case {"type": "Strip", "content": character, "start": start, "stop": 0} if fused:
                strip = (character, start)
            case {"type": "Fuse"}:
                fused = True
            case _:
                raise ModelError(f"the tokenizer's decoder {json.dumps(link)} is not supported")
    return steps, strip


def _opening(names: Mapping[int, str], links: list[dict[str, Any]], steps: list[_Step]) -> dict[int, bytes]:
    """Metaspace takes its character off a first token instead of making it a space."""
    first = links[0]
    if first["type"] != "Metaspace" or first["prepend_scheme"] == "never":
        return {}
    drop = first["replacement"]
    return {number: _spell(name.replace(drop, ""), steps) for number, name in names.items() if drop in name}


def _spell(name: str, steps: list[_Step]) -> bytes:
    value: str | bytes = name
    for step in steps:
        value = step(value)
    return value if isinstance(value, bytes) else value.encode("utf-8", "replace")


def _replace(old: str, new: str) -> _Step:
    return lambda value: value.replace(old, new) if isinstance(value, str) else value


def _byte_fallback(value: str | bytes) -> str | bytes:
    """``<0x0A>`` is a byte."""
    if isinstance(value, str) and len(value) == 6 and value.startswith("<0x") and value.endswith(">"):
        try:
            return bytes.fromhex(value[3:5])
        except ValueError:
            return value
    return value


def _byte_level(value: str | bytes) -> str | bytes:
    """Each character is a byte, unless the token holds one that stands for none: then it is text."""
    if isinstance(value, bytes):
        return value
    try:
        return bytes(_BYTES[character] for character in value)
    except KeyError:
        return value.encode("utf-8", "replace")


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's spelling of bytes: printable ones are themselves, the others the characters from 256 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (byte for byte in range(256) if byte not in printable)
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _byte_alphabet()
