"""The kernels that attention is computed with, and the choice between them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Final, Literal, Protocol, TypeAlias

import torch
from torch.nn.functional import scaled_dot_product_attention

from toolglot.engine.batch import Group
from toolglot.errors import ModelError

Choice: TypeAlias = Literal["auto", "flash", "sdpa"]

_TOLERANCE: Final = 0.05
"""How far bfloat16 results of order 1 may lie apart."""


class Kernels(Protocol):
    """A way to compute attention over the paged cache. Queries and results are [tokens, heads, size], pools as in :class:`KVCache`."""

    name: str
    page_size: int

    def decode(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, group: Group, scale: float
    ) -> torch.Tensor:
        """One token of each sequence in ``group``."""

    def chunks(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, group: Group, scale: float
    ) -> torch.Tensor:
        """Several tokens of each sequence in ``group``; each token sees those before it and itself."""


class SdpaKernels:
    """torch's scaled_dot_product_attention, which has a flash kernel on the CPU too."""

    name = "sdpa"

    def __init__(self, page_size: int = 32) -> None:
        self.page_size = page_size

    def decode(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, group: Group, scale: float
    ) -> torch.Tensor:
        heads, size = keys.shape[2:]
        # The query heads that share a key-value head become one query of several rows: keys are not copied for each.
        rows = query.unflatten(1, (heads, -1))
        width = group.tables.shape[1] * self.page_size
        seen = [
            pool.index_select(0, group.tables.flatten()).view(len(group), width, heads, size).transpose(1, 2)
            for pool in (keys, values)
        ]
        return scaled_dot_product_attention(rows, *seen, attn_mask=group.visible, scale=scale).flatten(1, 2)

    def chunks(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, group: Group, scale: float
    ) -> torch.Tensor:
        pieces = zip(query.split(group.query_lengths), group.tables, group.key_lengths, group.causal, strict=True)
        outputs = []
        for piece, table, length, mask in pieces:
            used = table[: -(-length // self.page_size)]
            seen = [
                pool.index_select(0, used).flatten(0, 1)[:length].transpose(0, 1)[None] for pool in (keys, values)
            ]
            output = scaled_dot_product_attention(
                piece.transpose(0, 1)[None], *seen, attn_mask=mask, is_causal=mask is None, scale=scale, enable_gqa=True
            )
            outputs.append(output[0].transpose(0, 1))
        return torch.cat(outputs)


class FlashKernels:
    """The flash-attn package (version 2): its two kernels read the pages themselves."""

    name = "flash"
    page_size = 256  # the kernels take multiples of it only

    def __init__(self, varlen: Callable[..., torch.Tensor], with_kvcache: Callable[..., torch.Tensor]) -> None:
        self._varlen, self._with_kvcache = varlen, with_kvcache

    def decode(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, group: Group, scale: float
    ) -> torch.Tensor:
        return self._with_kvcache(
            query[:, None], keys, values,
            cache_seqlens=group.lengths, block_table=group.tables, softmax_scale=scale, causal=True,
        )[:, 0]  # fmt: skip

    def chunks(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, group: Group, scale: float
    ) -> torch.Tensor:
        return self._varlen(
            query, keys, values,
            cu_seqlens_q=group.query_offsets, cu_seqlens_k=group.key_offsets,
            max_seqlen_q=max(group.query_lengths), max_seqlen_k=max(group.key_lengths),
            softmax_scale=scale, causal=True, block_table=group.tables,
        )  # fmt: skip


def choose(choice: Choice, *, heads: int, key_heads: int, size: int, like: torch.Tensor) -> tuple[Kernels, str]:
    """Return the kernels for a model of this shape and for tensors ``like`` this one, and why they were chosen.

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
        difference = largest_difference(flash, heads=heads, key_heads=key_heads, size=size, like=like)
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


def largest_difference(kernels: Kernels, *, heads: int, key_heads: int, size: int, like: torch.Tensor) -> float:
    """How far the results of ``kernels`` lie from those of :class:`SdpaKernels`, on a small batch of both kinds."""
    generator = torch.Generator(like.device).manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, device=like.device, dtype=like.dtype)

    page = kernels.page_size
    pools = [random(5, page, key_heads, size) for _ in range(2)]
    tables, lengths = [[3, 1], [4, 0]], [page + 9, page + 30]
    worst = 0.0
    for kind, queries in (("decode", [1, 1]), ("chunks", [5, 20])):
        query = random(sum(queries), heads, size)
        group = Group(queries, lengths, tables, page_size=page, device=like.device)
        ours, reference = (
            getattr(each, kind)(query, *pools, group, size**-0.5) for each in (kernels, SdpaKernels(page))
        )
        worst = max(worst, float((ours - reference).abs().max()))
    return worst
