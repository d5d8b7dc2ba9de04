"""Which tokens may come next in one output."""

from __future__ import annotations

from typing import Any

import torch
import xgrammar


class Matcher:
    """Follows one output through a compiled tag. Not for use by several threads at once."""

    def __init__(self, grammar: Any, allowed: torch.Tensor) -> None:
        self._matcher = xgrammar.GrammarMatcher(grammar)
        self._vocab_size: int = grammar.tokenizer_info.vocab_size
        self._allowed = allowed
        self._bits = torch.empty_like(allowed)

    @property
    def finished(self) -> bool:
        """Whether a stop token was accepted: the output is over, and nothing more is masked or accepted."""
        return bool(self._matcher.is_terminated())

    def mask(self, logits: torch.Tensor) -> None:
        """Set the logits of all tokens that may not come next to minus infinity, in place.

        ``logits`` is one row, [vocab_size], float32 or bfloat16, on the CPU or a CUDA device.
        """
        if logits.shape != (self._vocab_size,):
            raise ValueError(f"`logits` has the shape {tuple(logits.shape)}; the grammar was compiled for ({self._vocab_size},)")
        if self.finished:
            return
        self._matcher.fill_next_token_bitmask(self._bits.unsqueeze(0))
        self._bits &= self._allowed
        xgrammar.apply_token_bitmask_inplace(logits.unsqueeze(0), self._bits.unsqueeze(0).to(logits.device))

    def accept(self, token_id: int) -> bool:
        """Take the next token of the output; False, and no change, if it may not come next."""
        if self.finished or not self._may_use(token_id):
            return False
        return bool(self._matcher.accept_token(token_id))

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` accepted tokens."""
        self._matcher.rollback(count)

    def _may_use(self, token_id: int) -> bool:
        if not 0 <= token_id < self._vocab_size:
            return False
        return bool(int(self._allowed[token_id // 32]) >> (token_id % 32) & 1)
