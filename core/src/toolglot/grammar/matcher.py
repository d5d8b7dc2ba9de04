"""Which tokens may come next in one output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import xgrammar
from msgspec import Struct


class TokenSet(Struct, frozen=True):
    """Token ids, also packed as XGrammar packs its masks: token 32 i + k is bit k of word i."""

    ids: frozenset[int]
    words: torch.Tensor

    @classmethod
    def of(cls, token_ids: Iterable[int], vocab_size: int) -> TokenSet:
        ids = frozenset(token_ids)
        bits = torch.zeros(_words(vocab_size) * 32, dtype=torch.int64)
        bits[list(ids)] = 1
        return cls(ids, (bits.view(-1, 32) << torch.arange(32)).sum(1).to(torch.int32))


class Matcher:
    """Follows one output through a compiled tag. Not for several threads at once."""

    def __init__(self, grammar: Any, banned: TokenSet, stops: TokenSet) -> None:
        self._matcher = xgrammar.GrammarMatcher(grammar)
        self._vocab_size = grammar.tokenizer_info.vocab_size - 1  # the last one is XGrammar's own stop token
        self._banned = banned.ids
        self._stops = stops.ids
        self._usable_words = ~banned.words
        self._stop_words = stops.words
        self._words = torch.empty_like(stops.words)
        self._accepted = 0
        self._finished = False
        self._stopped = False
        """Whether the last token was a stop token, and none of the grammar's."""

    @property
    def finished(self) -> bool:
        """Whether a stop token ended the output. From then on nothing is masked, and nothing accepted."""
        return self._finished

    def mask(self, logits: torch.Tensor) -> None:
        """Set the logits of all tokens that may not come next to minus infinity, in place.

        ``logits`` is one row, [vocab_size], float32 or bfloat16, on the CPU or a CUDA device.
        """
        if logits.shape != (self._vocab_size,):
            raise ValueError(
                f"`logits` has shape {tuple(logits.shape)}; the grammar was compiled for ({self._vocab_size},)"
            )
        if self._finished:
            return
        self._matcher.fill_next_token_bitmask(self._words.unsqueeze(0))
        self._words &= self._usable_words
        if self._matcher.is_completed():
            self._words |= self._stop_words
        xgrammar.apply_token_bitmask_inplace(logits.unsqueeze(0), self._words.unsqueeze(0).to(logits.device))

    def accept(self, token_id: int) -> bool:
        """Take the next token of the output; False, and no change, if it may not come next.

        A stop token that is also a marker is one where the grammar wants it; if the output may end after it, it does.
        """
        if self._finished or not 0 <= token_id < self._vocab_size:
            return False
        complete = self._matcher.is_completed()
        stop = token_id in self._stops
        if token_id not in self._banned and self._matcher.accept_token(token_id):
            self._finished = stop and self._matcher.is_completed()
        elif stop and complete:
            self._finished = self._stopped = True
        else:
            return False
        self._accepted += 1
        return True

    def accept_many(self, token_ids: Iterable[int]) -> int:
        """Take tokens up to the first that may not come where it is; returns how many were taken."""
        taken = 0
        for token_id in token_ids:
            if not self.accept(token_id):
                break
            taken += 1
        return taken

    def rollback(self, count: int) -> None:
        """Give back the last ``count`` tokens, as if they had never been taken; a finished output goes on then.

        Raises:
            ValueError: fewer were taken.
        """
        if not 0 <= count <= self._accepted:
            raise ValueError(f"{count} tokens cannot be given back: {self._accepted} were taken")
        if count == 0:
            return
        if count > self._stopped:
            self._matcher.rollback(count - self._stopped)
        self._accepted -= count
        self._finished = self._stopped = False


def _words(vocab_size: int) -> int:
    """Words of a mask over ``vocab_size`` tokens and XGrammar's stop token."""
    return vocab_size // 32 + 1
