"""Structural tags to grammars over one tokenizer's tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import torch
import xgrammar
from msgspec import Struct

from toolglot.errors import GrammarError
from toolglot.grammar.free_text import named_tokens, without_tokens
from toolglot.grammar.matcher import Matcher
from toolglot.structural_tag import StructuralTag
from toolglot.tokens.table import token_table
from toolglot.vocabulary import added_tokens

_CACHE_BYTES = 256 << 20
_THREADS = 2
_ORIGIN = re.compile(r"^\[[\d:]+\]\s*\S+?:\d+:\s*")
"""What XGrammar puts before a message: time, C++ file and line."""


class CompiledTag(Struct, frozen=True):
    """A compiled structural tag: good for any number of matchers, in any thread."""

    grammar: Any
    allowed: torch.Tensor
    """One bit a token, as XGrammar packs them: the tokens that this tag may use at all."""

    def matcher(self) -> Matcher:
        """A matcher at the start of an output."""
        return Matcher(self.grammar, self.allowed)


class Compiler:
    """Compiles structural tags for one tokenizer and one width of logits; may be shared by threads.

    An added token, special or not, is never text: it is allowed where a tag names it by id, and nowhere else. Ids that are
    in ``vocab_size`` but not in the tokenizer are never allowed. A stop token is allowed where the output may end, and
    where a tag names it.
    """

    def __init__(self, tokenizer: Any, *, vocab_size: int, stop_token_ids: Iterable[int]) -> None:
        self._added = {token: name for name, token in added_tokens(tokenizer).items()}
        self._stops = sorted({token for token in stop_token_ids if 0 <= token < vocab_size})
        if not self._stops:
            raise ValueError("a grammar needs a stop token: `stop_token_ids` has none below `vocab_size`")
        info = xgrammar.TokenizerInfo(
            _vocabulary(tokenizer, vocab_size),
            xgrammar.VocabType.RAW,
            vocab_size=vocab_size,
            stop_token_ids=self._stops,
        )
        self._vocab_size = vocab_size
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=_THREADS, cache_limit_bytes=_CACHE_BYTES)

    def compile(self, tag: StructuralTag) -> CompiledTag:
        """Compile a tag; the same tag again comes from a cache. Releases the GIL, but takes seconds for a huge schema.

        Raises:
            GrammarError: XGrammar refuses the tag or a schema in it; the message says why.
        """
        named = frozenset(named_tokens(tag))
        if strangers := named - self._added.keys():
            raise GrammarError(f"the structural tag names tokens that are no added tokens: {sorted(strangers)}")
        guarded = without_tokens(tag, {token: self._added[token] for token in named})
        try:
            grammar = self._compiler.compile_structural_tag(guarded.to_json())
        except RuntimeError as error:  # all that XGrammar raises for a bad tag or schema
            raise GrammarError(f"the tools cannot be compiled into a grammar: {_reason(error)}") from error
        return CompiledTag(grammar, self._allowed(named))

    def _allowed(self, named: frozenset[int]) -> torch.Tensor:
        bits = torch.ones(-(-self._vocab_size // 32) * 32, dtype=torch.int64)
        bits[[token for token in self._added.keys() - named - set(self._stops) if token < self._vocab_size]] = 0
        words = (bits.view(-1, 32) << torch.arange(32)).sum(1)
        return words.to(torch.int32)


def _vocabulary(tokenizer: Any, vocab_size: int) -> list[bytes]:
    """Each token's bytes. An added token's begin with a byte that no text holds, so that it is never taken for text."""
    table = token_table(tokenizer)
    texts = [*table.texts, *[b""] * (vocab_size - len(table.texts))][:vocab_size]
    for name, token in added_tokens(tokenizer).items():
        if token < vocab_size:
            texts[token] = b"\xff" + name.encode()
    return texts


def _reason(error: RuntimeError) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return _ORIGIN.sub("", lines[-1])
