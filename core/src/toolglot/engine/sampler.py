"""The choice of one token from one row of logits."""

from __future__ import annotations

from typing import Final

import torch

from toolglot.engine.protocol import SamplingParams, TokenLogprobs

_GREEDY: Final = 1e-5
"""Temperatures below this one are 0: dividing by them would overflow."""


def sample(logits: torch.Tensor, sampling: SamplingParams, generator: torch.Generator | None = None) -> int:
    """Return the id of the next token. ``logits`` is one row [vocab_size]; minus infinity forbids a token.

    Temperature applies first; then top_k, top_p and min_p each look at the same probabilities, and what all three keep
    is drawn from.
    """
    if sampling.temperature < _GREEDY:
        return int(logits.argmax())
    probabilities = torch.softmax(logits.float() / sampling.temperature, dim=-1)
    if sampling.top_k > 0 or sampling.top_p < 1 or sampling.min_p > 0:
        probabilities = probabilities * _kept(probabilities, sampling)
    return int(torch.multinomial(probabilities, 1, generator=generator))


def token_logprobs(logits: torch.Tensor, token: int, count: int) -> TokenLogprobs:
    """How probable ``token`` was in this row [vocab_size], and the ``count`` most probable tokens; fewer if no more are
    allowed.
    """
    logprobs = torch.log_softmax(logits.float(), dim=-1)
    values, ids = logprobs.topk(min(count, len(logprobs)))
    top = zip(ids.tolist(), values.tolist(), strict=True)
    return TokenLogprobs(logprobs[token].item(), tuple(pair for pair in top if pair[1] > -torch.inf))


def _kept(probabilities: torch.Tensor, sampling: SamplingParams) -> torch.Tensor:
    """Which tokens may be drawn [vocab_size], bool; the most probable one always may."""
    ranked, order = probabilities.sort(descending=True, stable=True)
    before = ranked.cumsum(dim=-1) - ranked
    keep = (before < sampling.top_p) & (ranked >= sampling.min_p * ranked[0])
    if sampling.top_k > 0:
        keep[sampling.top_k :] = False
    keep[0] = True
    return torch.zeros_like(keep).index_copy_(0, order, keep)
