"""Structural tags to grammars over one tokenizer's tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import xgrammar
from msgspec import Struct

from toolglot.errors import GrammarError
from toolglot.grammar.free_text import named_tokens, without_tokens
from toolglot.grammar.matcher import Matcher, TokenSet
from toolglot.structural_tag import StructuralTag
from toolglot.tokens.table import token_table
from toolglot.vocabulary import added_tokens

_CACHE_BYTES = 256 << 20
_THREADS = 2
_ORIGIN = re.compile(r"^\[[\d:]+\] \S+:\d+: (Check failed: \(.*?\) is false: )?")
"""What XGrammar puts before a message: time, C++ file and line, condition."""


class CompiledTag(Struct, frozen=True):
    """A compiled structural tag: good for any number of matchers, in any thread."""

    grammar: Any
    banned: TokenSet
    """The tokens that this tag never uses."""
    stops: TokenSet
    """The tokens that end the output where it may end."""

    def matcher(self) -> Matcher:
        """A matcher at the start of an output."""
        return Matcher(self.grammar, self.banned, self.stops)


class Compiler:
    """Compiles structural tags for one tokenizer and one width of logits; may be shared by threads.

    An added token, special or not, is never text: it is allowed where a tag names it by id, and nowhere else. Ids below
    ``vocab_size`` that the tokenizer does not have are never allowed. A stop token is allowed where the output may end,
    and where a tag names it.

    Raises:
        ValueError: there is no stop token below ``vocab_size``, so that no output could end.
        ModelError: the tokenizer is of a kind that is not supported.
    """

    def __init__(self, tokenizer: Any, *, vocab_size: int, stop_token_ids: Iterable[int]) -> None:
        self._vocab_size = vocab_size
        self._stops = frozenset(token for token in stop_token_ids if 0 <= token < vocab_size)
        if not self._stops:
            raise ValueError(f"a grammar needs a stop token: `stop_token_ids` has none below {vocab_size}")
        self._markers = {token: name for name, token in added_tokens(tokenizer).items() if token < vocab_size}
        end = vocab_size  # XGrammar's one stop token: a real one could not be a marker too
        info = xgrammar.TokenizerInfo(
            self._spellings(tokenizer), xgrammar.VocabType.RAW, vocab_size=vocab_size + 1, stop_token_ids=[end]
        )
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=_THREADS, cache_limit_bytes=_CACHE_BYTES)

    def compile(self, tag: StructuralTag) -> CompiledTag:
        """Compile a tag, or take it from the cache. It releases the GIL, but takes seconds for a huge schema.

        Raises:
            GrammarError: XGrammar refuses the tag or a schema in it; the message says why.
        """
        named = sorted(set(named_tokens(tag)))
        if strangers := [token for token in named if token not in self._markers]:
            raise GrammarError(
                f"the structural tag names tokens that this model does not have: {strangers}", param="tools"
            )
        guarded = without_tokens(tag, {token: self._markers[token] for token in named}) if named else tag
        try:
            grammar = self._compiler.compile_structural_tag(guarded.to_json())
        except RuntimeError as error:  # all that XGrammar raises for a bad tag or schema
            raise GrammarError(
                f"the tools cannot be compiled into a grammar: {_reason(error)}", param="tools"
            ) from error
        banned = (self._markers.keys() | self._stops) - set(named)
        return CompiledTag(grammar, TokenSet.of(banned, self._vocab_size), TokenSet.of(self._stops, self._vocab_size))

    def _spellings(self, tokenizer: Any) -> list[bytes]:
        """Each token's bytes. Those of markers and stop tokens begin with a byte that is in no text."""
        texts = token_table(tokenizer).texts[: self._vocab_size]
        spellings = [*texts, *[b""] * (self._vocab_size + 1 - len(texts))]
        for token in self._markers.keys() | self._stops:
            spellings[token] = b"\xff" + self._markers.get(token, f"stop {token}").encode()
        return spellings


def _reason(error: RuntimeError) -> str:
    return _ORIGIN.sub("", str(error).strip())
