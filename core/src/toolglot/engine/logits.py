"""Changes to logits that a request asks for: penalties, biases, and a least length."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from toolglot.engine.protocol import SamplingParams


class LogitsProcessor:
    """Changes the logits of one sequence, and remembers its tokens for that.

    A token that is forbidden (minus infinity) stays so, and whatever is asked for, one that is allowed remains.
    ``prompt`` are the tokens that come first, ``stop_ids`` those that end the output.
    """

    def __init__(
        self,
        sampling: SamplingParams,
        prompt: Iterable[int],
        stop_ids: Iterable[int],
        vocab_size: int,
        device: torch.device,
    ) -> None:
        self._sampling = sampling
        self._generated = 0
        self._counts = torch.zeros(vocab_size, device=device)
        self._seen = torch.zeros(vocab_size, dtype=torch.bool, device=device)
        self._seen[_ids(prompt, device)] = True
        self._stops = _ids(stop_ids, device)
        self._biased = _ids(sampling.logit_bias, device)
        self._biases = torch.tensor(list(sampling.logit_bias.values()), device=device)

    @staticmethod
    def wanted(sampling: SamplingParams) -> bool:
        """Whether a request changes logits at all."""
        penalties = (sampling.presence_penalty, sampling.frequency_penalty, sampling.repetition_penalty - 1)
        return any(penalties) or bool(sampling.logit_bias) or sampling.min_tokens > 0

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        """The changed logits, a new tensor; ``logits`` is one row [vocab_size]."""
        sampling = self._sampling
        logits = logits.clone()
        logits[self._biased] += self._biases
        repeated = torch.where(logits > 0, logits / sampling.repetition_penalty, logits * sampling.repetition_penalty)
        logits = torch.where(self._seen, repeated, logits)
        logits -= sampling.frequency_penalty * self._counts
        logits -= sampling.presence_penalty * (self._counts > 0)
        return self._without_stops(logits) if self._generated < sampling.min_tokens else logits

    def accept(self, token: int) -> None:
        """Note the token that was chosen."""
        self._generated += 1
        self._counts[token] += 1
        self._seen[token] = True

    def _without_stops(self, logits: torch.Tensor) -> torch.Tensor:
        going_on = logits.index_fill(0, self._stops, -torch.inf)
        return logits if bool(going_on.isneginf().all()) else going_on


def _ids(ids: Iterable[int], device: torch.device) -> torch.Tensor:
    return torch.tensor(list(ids), dtype=torch.int64, device=device)
