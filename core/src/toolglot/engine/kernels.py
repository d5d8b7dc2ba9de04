"""The kernels that attention is computed with, and the choice between them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Final, Literal, Protocol, TypeAlias

import torch
from msgspec import Struct
from torch.nn.functional import scaled_dot_product_attention

from toolglot.engine.batch import Group
from toolglot.engine.kv_cache import Pools
from toolglot.errors import ModelError

Choice: TypeAlias = Literal["auto", "flash", "sdpa"]

_TOLERANCE: Final = 0.05
"""How far bfloat16 results of order 1 may lie apart."""


class Kernels(Protocol):
    """A way to compute attention over the paged cache.

    Queries and results are [tokens, heads, size]; the pools are a layer's keys and values, as in :class:`KVCache`.
    """

    name: str
    page_size: int

    def decode(self, query: torch.Tensor, pools: Pools, group: Group, scale: float) -> torch.Tensor:
        """One token of each sequence in ``group``."""

    def chunks(self, query: torch.Tensor, pools: Pools, group: Group, scale: float) -> torch.Tensor:
        """Several tokens of each sequence in ``group``; each token sees those before it and itself."""


class SdpaKernels:
    """torch's scaled_dot_product_attention, which has a flash kernel on the CPU too."""

    name = "sdpa"

    def __init__(self, page_size: int = 32) -> None:
        self.page_size = page_size

    def decode(self, query: torch.Tensor, pools: Pools, group: Group, scale: float) -> torch.Tensor:
        heads, size = pools[0].shape[2:]
        # The query heads that share a key-value head become one query of several rows: no key is copied for each.
        rows = query.view(len(group), heads, -1, size)
        keys, values = (
            pool.index_select(0, group.tables.flatten()).view(len(group), -1, heads, size).transpose(1, 2)
            for pool in pools
        )
        return scaled_dot_product_attention(rows, keys, values, attn_mask=group.visible, scale=scale).flatten(1, 2)

    def chunks(self, query: torch.Tensor, pools: Pools, group: Group, scale: float) -> torch.Tensor:
        results = []
        for index, piece in enumerate(torch.split(query, group.query_lengths)):
            keys, values = (self._seen(pool, group.tables[index], group.key_lengths[index]) for pool in pools)
            mask = group.causal[index]
            result = scaled_dot_product_attention(
                piece.transpose(0, 1)[None], keys, values, mask, is_causal=mask is None, scale=scale, enable_gqa=True
            )
            results.append(result[0].transpose(0, 1))
        return torch.cat(results)

    def _seen(self, pool: torch.Tensor, pages: torch.Tensor, length: int) -> torch.Tensor:
        used = pages[: -(-length // self.page_size)]
        return pool.index_select(0, used).flatten(0, 1)[:length].transpose(0, 1)[None]


class FlashKernels:
    """The flash-attn package (version 2): its two kernels read the pages themselves."""

    name = "flash"
    page_size = 256  # the kernels take multiples of it only

    def __init__(self, varlen: Callable[..., torch.Tensor], with_kvcache: Callable[..., torch.Tensor]) -> None:
        self._varlen, self._with_kvcache = varlen, with_kvcache

    def decode(self, query: torch.Tensor, pools: Pools, group: Group, scale: float) -> torch.Tensor:
        return self._with_kvcache(
            query[:, None], *pools,
            cache_seqlens=group.lengths, block_table=group.tables, softmax_scale=scale, causal=True,
        )[:, 0]  # fmt: skip

    def chunks(self, query: torch.Tensor, pools: Pools, group: Group, scale: float) -> torch.Tensor:
        return self._varlen(
            query, *pools,
            cu_seqlens_q=group.query_offsets, cu_seqlens_k=group.key_offsets,
            max_seqlen_q=max(group.query_lengths), max_seqlen_k=max(group.key_lengths),
            softmax_scale=scale, causal=True, block_table=group.tables,
        )  # fmt: skip


class Shape(Struct, frozen=True):
    """The attention of a model's first layer: what kernels are tried with."""

    query_heads: int
    key_heads: int
    size: int


def choose(choice: Choice, shape: Shape, like: torch.Tensor) -> tuple[Kernels, str]:
    """Return the kernels for a model of this shape, with tensors ``like`` this one, and why they were chosen.

    Raises:
        ModelError: ``choice`` names kernels that cannot run here, or none at all.
    """
    if choice not in ("auto", "flash", "sdpa"):
        raise ModelError(f"unknown attention {choice!r}; use auto, flash or sdpa")
    if choice == "sdpa":
        return SdpaKernels(), "as asked"
    obstacle = _obstacle(like)
    if obstacle is None:
        flash = _flash()
        difference = largest_difference(flash, shape, like)
        if difference < _TOLERANCE:
            return flash, f"flash-attn agrees with sdpa within {difference:.1e}"
        obstacle = f"flash-attn differs from sdpa by {difference:.1e}"
    if choice == "flash":
        raise ModelError(f"attention `flash` cannot run: {obstacle}")
    return SdpaKernels(), obstacle


def _obstacle(like: torch.Tensor) -> str | None:
    if like.device.type != "cuda":
        return "flash-attn needs CUDA, and the model is on the CPU"
    if like.dtype not in (torch.float16, torch.bfloat16):
        return f"flash-attn needs bfloat16 or float16, and the model is in {like.dtype}"
    if importlib.util.find_spec("flash_attn") is None:
        return 'flash-attn is not installed: pip install "toolglot[cuda]"'
    return None


def _flash() -> FlashKernels:
    from flash_attn import flash_attn_varlen_func, flash_attn_with_kvcache

    return FlashKernels(flash_attn_varlen_func, flash_attn_with_kvcache)


def largest_difference(kernels: Kernels, shape: Shape, like: torch.Tensor) -> float:
    """How far the results of ``kernels`` lie from those of :class:`SdpaKernels`, on a small batch of both kinds."""
    generator = torch.Generator(like.device).manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, device=like.device, dtype=like.dtype)

    page = kernels.page_size
    pools = random(5, page, shape.key_heads, shape.size), random(5, page, shape.key_heads, shape.size)
    tables, lengths = [[3, 1], [4, 0]], [page + 9, page + 30]
    worst = 0.0
    for kind, queries in (("decode", [1, 1]), ("chunks", [5, 20])):
        query = random(sum(queries), shape.query_heads, shape.size)
        group = Group(queries, lengths, tables, page_size=page, device=like.device)
        ours, reference = (
            getattr(each, kind)(query, pools, group, shape.size**-0.5) for each in (kernels, SdpaKernels(page))
        )
        worst = max(worst, float((ours - reference).abs().max()))
    return worst
