"""Attention for transformers' models, which call it through the AttentionInterface under the name ``toolglot``."""

from __future__ import annotations

from typing import Any, Final, Protocol

import torch
from transformers import AttentionInterface

from toolglot.engine.batch import Batch
from toolglot.engine.kernels import Kernels
from toolglot.engine.kv_cache import KVCache

NAME: Final = "toolglot"


class Step(Protocol):
    """What a model's attention layers are given: the batch's attention, or a probe."""

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float, asked: dict[str, Any]
    ) -> torch.Tensor:
        """Queries [tokens, heads, size] to results of the same shape; ``asked`` is what else the layer wants."""


class BatchStep:
    """Attention of one batch."""

    def __init__(self, batch: Batch, cache: KVCache, kernels: Kernels) -> None:
        self.batch = batch
        self._cache, self._kernels = cache, kernels

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float, _: dict[str, Any]
    ) -> torch.Tensor:
        """Store the new keys and values, then attend over all that each sequence has."""
        pools = self._cache.store(layer, self.batch.slots, key, value)
        first = len(self.batch.decodes)
        results = []
        if first:
            results.append(self._kernels.decode(query[:first], *pools, self.batch.decodes, scale))
        if len(self.batch.chunks):
            results.append(self._kernels.chunks(query[first:], *pools, self.batch.chunks, scale))
        return torch.cat(results)


def _attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    step: Step,
    **asked: Any,
) -> tuple[torch.Tensor, None]:
    """The function that transformers calls, with [1, heads, tokens, size]; ``step`` comes from the call of the model."""
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    packed = (tensor[0].transpose(0, 1) for tensor in (query, key, value))
    return step.attend(module.layer_idx, *packed, scale, asked | {"attention_mask": attention_mask})[None], None


# Without a mask function of this name, transformers makes no masks: the batch knows what each token sees.
AttentionInterface.register(NAME, _attend)
