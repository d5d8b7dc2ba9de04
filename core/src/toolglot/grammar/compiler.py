"""Structural tags to grammars over one tokenizer's tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from collections.abc import Sequence as Seq
from functools import lru_cache
from typing import Any

import xgrammar
from msgspec import Struct

from toolglot.errors import GrammarError
from toolglot.grammar.alternatives import merged
from toolglot.grammar.free_text import named_tokens, without_tokens
from toolglot.grammar.matcher import Matcher, TokenSet
from toolglot.structural_tag import StructuralTag
from toolglot.tokens.table import token_table
from toolglot.vocabulary import added_tokens

_CACHE_BYTES = 256 << 20
_ORIGIN = re.compile(r"^\[[\d:]+\] \S+:\d+: (Check failed: \(.*?\) is false: )?")
"""What XGrammar puts before a message: time, C++ file and line, condition."""


class GuardedTag(Struct, frozen=True):
    """A structural tag whose free text holds none of the tokens that the tag names."""

    text: str
    """XGrammar's JSON."""
    named: frozenset[int]
    """The tokens that it names."""


class CompiledTag(Struct, frozen=True):
    """A compiled structural tag: good for any number of matchers, in any thread."""

    grammar: Any
    banned: TokenSet
    """The tokens that this tag never uses."""
    stops: TokenSet
    """The tokens that end the output where it may end."""
    source: GuardedTag
    """What it was compiled from."""
    spell: Callable[[str], Seq[int]]
    """The tokens that the tokenizer writes a text with; none where these, after others, are not that text."""
    lazy: bool
    """Whether a mask is made when it is first wanted, which may take a second."""

    @property
    def named(self) -> bool:
        """Whether it names tokens."""
        return bool(self.source.named)

    @property
    def size(self) -> int:
        """About how many bytes it takes, its source included; more with every mask that is made late."""
        size: int = self.grammar.memory_size_bytes
        return size + len(self.source.text)

    def matcher(self) -> Matcher:
        """A matcher at the start of an output."""
        return Matcher(self.grammar, self.banned, self.stops, self.named, self.spell)


class Compiler:
    """Compiles structural tags for one tokenizer and one width of logits; may be shared by threads.

    An added token, special or not, is never text: it is allowed where a tag names it by id, and nowhere else. Ids below
    ``vocab_size`` that the tokenizer does not have are never allowed. A stop token is allowed where the output may end,
    and where a tag names it.

    Raises:
        ValueError: there is no stop token below ``vocab_size``, so that no output could end.
        ModelError: the tokenizer is of a kind that is not supported.
    """

    def __init__(
        self, tokenizer: Any, *, vocab_size: int, stop_token_ids: Iterable[int], cache_bytes: int = _CACHE_BYTES
    ) -> None:
        self._vocab_size = vocab_size
        self._stops = frozenset(token for token in stop_token_ids if 0 <= token < vocab_size)
        if not self._stops:
            raise ValueError(f"a grammar needs a stop token: `stop_token_ids` has none below {vocab_size}")
        self._markers = {token: name for name, token in added_tokens(tokenizer).items() if token < vocab_size}
        end = vocab_size  # XGrammar's one stop token: a real one could not be a marker too
        spellings = self._spellings(tokenizer)
        self.info = xgrammar.TokenizerInfo(
            spellings, xgrammar.VocabType.RAW, vocab_size=vocab_size + 1, stop_token_ids=[end]
        )
        self._spell = _speller(tokenizer, spellings)
        self._eager, self._lazy = (grammar_compiler(self.info, lazy=lazy, cache=cache_bytes) for lazy in (False, True))

    def compile(self, tag: StructuralTag) -> CompiledTag:
        """Compile a tag with all its masks, or take it from the cache.

        It releases the GIL. There is no limit to how long it takes: see :class:`~toolglot.grammar.BoundedCompiler`.

        Raises:
            GrammarError: XGrammar refuses the tag or a schema in it; the message says why.
        """
        return self.compile_eagerly(self.guard(tag))

    def guard(self, tag: StructuralTag) -> GuardedTag:
        """What is compiled for a tag.

        Raises:
            GrammarError: the tag names tokens that this model does not have, or is nested too deeply.
        """
        named = frozenset(named_tokens(tag))
        if strangers := sorted(named - self._markers.keys()):
            raise GrammarError(
                f"the structural tag names tokens that this model does not have: {strangers}", param="tools"
            )
        guarded = without_tokens(tag, {token: self._markers[token] for token in sorted(named)}) if named else tag
        try:
            return GuardedTag(merged(guarded).to_json(), named)
        except RecursionError as error:
            raise refusal("it is nested too deeply") from error

    def compile_eagerly(self, tag: GuardedTag) -> CompiledTag:
        """As :meth:`compile`."""
        return self._compiled(tag, lazy=False)

    def compile_lazily(self, tag: GuardedTag) -> CompiledTag:
        """Compile a tag without its masks: each is made when it is first wanted, which may take long.

        Raises:
            GrammarError: as :meth:`compile`.
        """
        return self._compiled(tag, lazy=True)

    def _compiled(self, tag: GuardedTag, *, lazy: bool) -> CompiledTag:
        try:
            grammar = (self._lazy if lazy else self._eager).compile_structural_tag(tag.text)
        except RuntimeError as error:  # all that XGrammar raises for a bad tag or schema
            raise refusal(reason(error)) from error
        banned = (self._markers.keys() | self._stops) - tag.named
        unused, stops = TokenSet.of(banned, self._vocab_size), TokenSet.of(self._stops, self._vocab_size)
        return CompiledTag(grammar, unused, stops, tag, self._spell, lazy)

    def _spellings(self, tokenizer: Any) -> list[bytes]:
        """Each token's bytes. Those of markers and stop tokens begin with a byte that is in no text."""
        texts = token_table(tokenizer).texts[: self._vocab_size]
        spellings = [*texts, *[b""] * (self._vocab_size + 1 - len(texts))]
        for token in self._markers.keys() | self._stops:
            spellings[token] = b"\xff" + self._markers.get(token, f"stop {token}").encode()
        return spellings


def grammar_compiler(info: Any, *, lazy: bool, cache: int) -> Any:
    """XGrammar's compiler, in the thread of its caller; ``lazy``: without the masks."""
    return xgrammar.GrammarCompiler(
        info, max_threads=1, cache_enabled=cache > 0, cache_limit_bytes=cache, enable_dynamic_compilation=lazy
    )


def _speller(tokenizer: Any, spellings: Seq[bytes]) -> Callable[[str], Seq[int]]:
    """What :attr:`CompiledTag.spell` is; it keeps what it found, since tools come again and again."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)

    @lru_cache(maxsize=4096)
    def spell(text: str) -> Seq[int]:
        encoded = backend.encode(text, add_special_tokens=False)
        tokens = tuple(getattr(encoded, "ids", encoded))
        known = all(token < len(spellings) for token in tokens)
        return tokens if known and b"".join(spellings[token] for token in tokens) == text.encode() else ()

    return spell


def refusal(reason: str) -> GrammarError:
    """The error for a tag that cannot be compiled."""
    return GrammarError(f"what is asked for cannot be compiled into a grammar: {reason}", param="tools")


def reason(error: Exception) -> str:
    """What XGrammar says against a tag."""
    return _ORIGIN.sub("", str(error).strip())
