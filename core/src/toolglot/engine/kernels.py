"""The kernels that attention is computed with, and the choice between them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection
from typing import Any, Final, Literal, Protocol, TypeAlias

import torch
from torch.nn.functional import scaled_dot_product_attention

from toolglot.engine.batch import Group
from toolglot.engine.kv_cache import Pools
from toolglot.engine.shapes import LayerShape, Scoring
from toolglot.errors import ModelError

Choice: TypeAlias = Literal["auto", "flash", "sdpa"]

_TOLERANCE: Final = 0.05
"""How far bfloat16 results of order 1 may lie apart."""


class Kernels(Protocol):
    """A way to compute attention over the paged cache.

    Queries and results are [tokens, heads, size]; the pools are a layer's keys and values, as in :class:`KVCache`.
    """

    name: str
    block_size: int

    def decode(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        """One token of each sequence in ``group``."""

    def chunks(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        """Several tokens of each sequence in ``group``; each token sees those before it and itself."""


class SdpaKernels:
    """torch's scaled_dot_product_attention, which has a flash kernel on the CPU too."""

    name = "sdpa"

    def __init__(self, block_size: int = 32) -> None:
        self.block_size = block_size

    def decode(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        keys, values = (
            (pool.index_select(0, group.tables.flatten()) if group.run is None else pool[group.run])
            .view(len(group), -1, *pool.shape[2:])
            .transpose(1, 2)
            for pool in pools
        )
        # The query heads that share a key-value head become one query of several rows: no key is copied for each.
        rows = query.view(len(group), keys.shape[1], -1, query.shape[-1])
        return _attend(rows, keys, values, group.visible(scoring.window), scoring).flatten(1, 2)

    def chunks(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        results = []
        masks = group.causal(scoring.window)
        for index, piece in enumerate(torch.split(query, group.query_lengths)):
            keys, values = (self._seen(pool, group.tables[index], group.key_lengths[index]) for pool in pools)
            result = _attend(piece.transpose(0, 1)[None], keys, values, masks[index], scoring)
            results.append(result[0].transpose(0, 1))
        return torch.cat(results)

    def _seen(self, pool: torch.Tensor, blocks: torch.Tensor, length: int) -> torch.Tensor:
        used = blocks[: -(-length // self.block_size)]
        return pool.index_select(0, used).flatten(0, 1)[:length].transpose(0, 1)[None]


def _attend(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None, scoring: Scoring
) -> torch.Tensor:
    """Attention of [sequences, heads, tokens, size] each; without a mask, a token sees those before it and itself."""
    if scoring.softcap is not None:
        return _capped(query, keys, values, mask, scoring.scale, scoring.softcap)
    return scaled_dot_product_attention(
        query, keys, values, mask, is_causal=mask is None, scale=scoring.scale, enable_gqa=True
    )


def _capped(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None, scale: float, cap: float
) -> torch.Tensor:
    """The same, written out: torch's own has no soft-cap."""
    shared = query.shape[1] // keys.shape[1]
    keys, values = (each[:, :, None].expand(-1, -1, shared, -1, -1).flatten(1, 2) for each in (keys, values))
    if mask is None:
        mask = torch.ones(query.shape[2], keys.shape[2], dtype=torch.bool, device=query.device).tril()
    scores = (query @ keys.transpose(-2, -1) * (scale / cap)).tanh() * cap
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1, dtype=torch.float32)
    return weights.to(values.dtype) @ values


class FlashKernels:
    """The flash-attn package (version 2): its two kernels read the blocks themselves."""

    name = "flash"
    block_size = 256  # the kernels take multiples of it only

    def __init__(self, varlen: Callable[..., torch.Tensor], with_kvcache: Callable[..., torch.Tensor]) -> None:
        self._varlen, self._with_kvcache = varlen, with_kvcache

    def decode(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        return self._with_kvcache(
            query[:, None], *pools,
            cache_seqlens=group.lengths, block_table=group.tables, **_flash_scoring(scoring),
        )[:, 0]  # fmt: skip

    def chunks(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        return self._varlen(
            query, *pools,
            cu_seqlens_q=group.query_offsets, cu_seqlens_k=group.key_offsets,
            max_seqlen_q=max(group.query_lengths), max_seqlen_k=max(group.key_lengths),
            block_table=group.tables, **_flash_scoring(scoring),
        )  # fmt: skip


def _flash_scoring(scoring: Scoring) -> dict[str, Any]:
    before = -1 if scoring.window is None else scoring.window - 1
    window = (before, -1 if scoring.window is None else 0)
    return {
        "softmax_scale": scoring.scale,
        "causal": True,
        "window_size": window,
        "softcap": scoring.softcap or 0.0,
    }


def choose(choice: Choice, layers: Collection[LayerShape], like: torch.Tensor) -> tuple[Kernels, str]:
    """Return the kernels for a model with these layers and tensors ``like`` this one, and why they were chosen.

    Raises:
        ModelError: ``choice`` names kernels that cannot run here, or none at all.
    """
    if choice not in ("auto", "flash", "sdpa"):
        raise ModelError(f"unknown attention {choice!r}; use auto, flash or sdpa")
    if choice == "sdpa":
        return SdpaKernels(), "as asked"
    obstacle = _obstacle(layers, like)
    if obstacle is None:
        flash = _flash()
        difference = max(largest_difference(flash, layer, like) for layer in set(layers))
        if difference < _TOLERANCE:
            return flash, f"flash-attn agrees with sdpa within {difference:.1e}"
        obstacle = f"flash-attn differs from sdpa by {difference:.1e}"
    if choice == "flash":
        raise ModelError(f"attention `flash` cannot run: {obstacle}")
    return SdpaKernels(), obstacle


def _obstacle(layers: Collection[LayerShape], like: torch.Tensor) -> str | None:
    if like.device.type != "cuda":
        return "flash-attn needs CUDA, and the model is on the CPU"
    if like.dtype not in (torch.float16, torch.bfloat16):
        return f"flash-attn needs bfloat16 or float16, and the model is in {like.dtype}"
    if any(layer.key_size != layer.value_size for layer in layers):
        return "flash-attn needs keys and values of one size, and the model's differ"
    if importlib.util.find_spec("flash_attn") is None:
        return 'flash-attn is not installed: pip install "toolglot[cuda]"'
    return None


def _flash() -> FlashKernels:
    from flash_attn import flash_attn_varlen_func, flash_attn_with_kvcache

    return FlashKernels(flash_attn_varlen_func, flash_attn_with_kvcache)


def largest_difference(kernels: Kernels, layer: LayerShape, like: torch.Tensor) -> float:
    """How far the results of ``kernels`` lie from those of :class:`SdpaKernels`, on a small batch of both kinds."""
    generator = torch.Generator(like.device).manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, device=like.device, dtype=like.dtype)

    block = kernels.block_size
    pools = random(5, block, layer.key_heads, layer.key_size), random(5, block, layer.key_heads, layer.value_size)
    tables, lengths = [[3, 1], [4, 0]], [block + 9, block + 30]
    worst = 0.0
    for kind, queries in (("decode", [1, 1]), ("chunks", [5, 20])):
        query = random(sum(queries), layer.query_heads, layer.key_size)
        group = Group(queries, lengths, tables, block_size=block, device=like.device)
        ours, reference = (
            getattr(each, kind)(query, pools, group, layer.scoring) for each in (kernels, SdpaKernels(block))
        )
        worst = max(worst, float((ours - reference).abs().max()))
    return worst
