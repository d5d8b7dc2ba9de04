"""Attention for transformers' models, which call it through the AttentionInterface under the name ``toolglot``."""

from __future__ import annotations

from typing import Any, Final, Protocol

import torch
from msgspec import Struct
from transformers import AttentionInterface

from toolglot.engine.batch import Batch
from toolglot.engine.kernels import Kernels
from toolglot.engine.kv_cache import KVCache
from toolglot.engine.shapes import Scoring

NAME: Final = "toolglot"


class Layer(Struct, frozen=True):
    """What one attention layer computed, each [tokens, heads, size], and what it asks for."""

    index: int
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    scoring: Scoring
    causal: bool
    asked: dict[str, Any]
    """All other arguments, by transformers' names."""


class Step(Protocol):
    """What a forward pass hands to the model's attention layers: the attention of a batch, or a probe."""

    def attend(self, layer: Layer) -> torch.Tensor:
        """Return the result for the layer's queries [tokens, heads, value size]."""


class BatchStep:
    """The attention of one batch."""

    def __init__(self, batch: Batch, cache: KVCache, kernels: Kernels) -> None:
        self.batch = batch
        self._cache, self._kernels = cache, kernels

    def attend(self, layer: Layer) -> torch.Tensor:
        """Store the new keys and values, then attend over all that each sequence has."""
        pools = self._cache.store(layer.index, self.batch.slots, layer.key, layer.value)
        decodes, chunks = self.batch.decodes, self.batch.chunks
        results = []
        if len(decodes):
            results.append(self._kernels.decode(layer.query[: len(decodes)], pools, decodes, layer.scoring))
        if len(chunks):
            results.append(self._kernels.chunks(layer.query[len(decodes) :], pools, chunks, layer.scoring))
        return results[0] if len(results) == 1 else torch.cat(results)


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    step: Step | None = None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **asked: Any,
) -> tuple[torch.Tensor, None]:
    """What transformers calls, with [1, heads, tokens, size] each; ``step`` is what the model was called with."""
    if step is None:
        raise TypeError("its attention layers are not given what the model is called with")
    query, key, value = (tensor[0].transpose(0, 1) for tensor in (query, key, value))
    scoring = Scoring(query.shape[-1] ** -0.5 if scaling is None else scaling, sliding_window, softcap)
    layer = Layer(
        module.layer_idx,
        query,
        key,
        value,
        scoring,
        getattr(module, "is_causal", True),
        asked | {"attention_mask": attention_mask},
    )
    return step.attend(layer)[None], None


# Without a mask function of this name, transformers makes no masks: the batch knows what each token sees.
AttentionInterface.register(NAME, _attend)
