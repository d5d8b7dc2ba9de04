"""toolglot's parsers, made ready for a tokenizer once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from toolglot import Parser, load_parser


class _AddedToken(Struct, frozen=True):
    content: str
    special: bool


class _Described:
    """A tokenizer of another kind (vLLM's for mistral-common), with its special tokens as transformers' have them."""

    def __init__(self, tokenizer: Any) -> None:
        pairs = zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True)
        self.added_tokens_decoder = {number: _AddedToken(text, special=True) for number, text in pairs}
        self._tokenizer = tokenizer

    def decode(self, ids: Any, *, skip_special_tokens: bool = False) -> str:
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=skip_special_tokens)
        return text


@lru_cache(maxsize=32)
def described(tokenizer: Any) -> Any:
    """``tokenizer`` as toolglot's parsers can ask it for its added tokens."""
    known = isinstance(tokenizer, Mapping) or hasattr(tokenizer, "added_tokens_decoder")
    return tokenizer if known else _Described(tokenizer)


@lru_cache(maxsize=32)
def configured(name: str, reasoning: str | None, tokenizer: Any) -> Parser:
    """The parser ``name`` for a tokenizer. ``reasoning`` names the one whose reasoning it reads; None: it reads none.

    Raises:
        PluginError: it cannot be had, or it cannot read the other's reasoning.
    """
    known = described(tokenizer)
    parser = load_parser(name, tokenizer=known)
    fixed = not hasattr(parser.plugin, "configured")  # it reads as it reads
    if reasoning == name or (fixed and reasoning is None):
        return parser
    return load_parser(name, tokenizer=known, reasoning=reasoning or "none")
