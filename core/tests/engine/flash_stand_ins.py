"""What the flash-attn packages compute, with their own signatures: attention over blocks, written out in torch.

They refuse what the packages refuse (of what this engine could get wrong), but take float32 too, so that results can be
compared exactly.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError
from itertools import accumulate, pairwise
from types import ModuleType

import pytest
import torch

from toolglot.engine import flash

SIXTEEN_BITS_OR_EXACT = (torch.float16, torch.bfloat16, torch.float32)


def flash2_varlen(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
    block_table=None,
):
    """flash_attn 2.8: flash_attn_varlen_func, with a block table."""
    _check_flash2(q, k, v, block_table)
    assert cu_seqlens_q.dtype == cu_seqlens_k.dtype == torch.int32
    assert (dropout_p, alibi_slopes, return_attn_probs) == (0.0, None, False)
    lengths = cu_seqlens_k.diff().tolist()
    assert max_seqlen_q == max(cu_seqlens_q.diff().tolist())
    assert max_seqlen_k == max(lengths)
    asked = (softmax_scale, causal, *(None if side < 0 else side for side in window_size), softcap)
    return _packed(q, k, v, cu_seqlens_q.tolist(), lengths, block_table, asked)


def flash2_with_kvcache(
    q,
    k_cache,
    v_cache,
    k=None,
    v=None,
    rotary_cos=None,
    rotary_sin=None,
    cache_seqlens=None,
    cache_batch_idx=None,
    cache_leftpad=None,
    block_table=None,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    rotary_interleaved=True,
    alibi_slopes=None,
    num_splits=0,
    return_softmax_lse=False,
):
    """flash_attn 2.8: flash_attn_with_kvcache, with a block table and no new keys."""
    _check_flash2(q, k_cache, v_cache, block_table)
    assert {k, v, rotary_cos, rotary_sin, cache_batch_idx, cache_leftpad, alibi_slopes} == {None}
    assert cache_seqlens.dtype == torch.int32
    assert not return_softmax_lse
    asked = (softmax_scale, causal, *(None if side < 0 else side for side in window_size), softcap)
    return _padded(q, k_cache, v_cache, cache_seqlens.tolist(), block_table, asked)


def flash4_varlen(
    q,
    k,
    v,
    qv=None,
    cu_seqlens_q=None,
    cu_seqlens_k=None,
    max_seqlen_q=None,
    max_seqlen_k=None,
    min_seqlen_k=None,
    seqused_q=None,
    seqused_k=None,
    gather_kv_indices=None,
    page_table=None,
    softmax_scale=None,
    causal=False,
    window_size=(None, None),
    learnable_sink=None,
    softcap=0.0,
    num_splits=1,
    pack_gqa=None,
    deterministic=False,
    score_mod=None,
    score_mod_bwd=None,
    mask_mod=None,
    block_sparse_tensors=None,
    aux_tensors=None,
    aux_scalars=None,
    return_lse=False,
    scheduler_metadata=None,
    seqlen_k_per_split=None,
    disable_scheduler_metadata=False,
    gather_bwd_recompute_p=False,
    gather_bwd_token_chunk=None,
):
    """flash_attn.cute 4.0.0b36: flash_attn_varlen_func, with a page table, on Hopper."""
    assert cu_seqlens_k is None
    assert num_splits == 1  # it splits on Blackwell only
    assert k is not v
    assert q.dtype == k.dtype == v.dtype
    assert v.dtype in SIXTEEN_BITS_OR_EXACT
    assert page_table.dtype == seqused_k.dtype == torch.int32
    assert page_table.stride(-1) == seqused_k.stride(0) == 1
    assert all(8 <= size <= 256 and size % 8 == 0 for size in (q.shape[-1], v.shape[-1]))
    assert page_table.shape[0] == len(seqused_k)
    left, right = window_size
    if None not in (left, right) and left < 0 and right < 0:
        left = right = None
    assert left is None or left >= 0  # one negative side is not "all" here
    asked, lengths = (softmax_scale, causal, left, right, softcap), seqused_k.tolist()
    if cu_seqlens_q is None:
        return _padded(q, k, v, lengths, page_table, asked), None
    assert cu_seqlens_q.dtype == torch.int32
    return _packed(q, k, v, cu_seqlens_q.tolist(), lengths, page_table, asked), None


def _check_flash2(q, k, v, block_table) -> None:
    assert q.dtype == k.dtype == v.dtype
    assert q.dtype in SIXTEEN_BITS_OR_EXACT
    assert q.stride(-1) == k.stride(-1) == v.stride(-1) == block_table.stride(-1) == 1
    assert k.shape == v.shape
    assert k.shape[1] % 256 == 0
    assert q.shape[-1] <= 256
    assert block_table.dtype == torch.int32


def _padded(q, k, v, lengths, table, asked):
    """Queries [batch, tokens, heads, size]."""
    batch, tokens = q.shape[:2]
    ends = [0, *accumulate([tokens] * batch)]
    return _packed(q.flatten(0, 1), k, v, ends, lengths, table, asked).unflatten(0, (batch, tokens))


def _packed(q, k, v, ends, lengths, table, asked):
    """Queries [tokens, heads, size]."""
    assert len(ends) - 1 == len(lengths) == len(table)
    assert ends[-1] == len(q)
    return torch.cat(
        [
            _attention(q[start:end], *(pool[row].flatten(0, 1)[:length] for pool in (k, v)), *asked)
            for (start, end), row, length in zip(pairwise(ends), table, lengths, strict=True)
        ]
    )


def _attention(q, k, v, scale, causal, left, right, softcap):
    """One sequence. Query i sees the keys from i + keys - queries - left to i + keys - queries + right, as both
    packages' documentation has it; None is without end, and causal is 0 to the right.
    """
    if causal:
        right = 0
    place = torch.arange(len(q))[:, None] + len(k) - len(q)
    keys = torch.arange(len(k))
    seen = torch.ones(len(q), len(k), dtype=torch.bool)
    if left is not None:
        seen &= keys >= place - left
    if right is not None:
        seen &= keys <= place + right
    k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], 1) for each in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k).float() * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap > 0:
        scores = softcap * torch.tanh(scores / softcap)
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return torch.einsum("hqk,khd->qhd", weights.to(v.dtype), v)


class Gpu:
    """A machine with an H200, as far as the choice of kernels looks at it, and packages that can be installed there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._installed: set[str] = set()
        self._package, self._cute = ModuleType("flash_attn"), ModuleType("flash_attn.cute")
        self.capability = (9, 0)
        monkeypatch.setattr(flash, "_require_tensors", lambda like: None)
        monkeypatch.setattr(flash, "distribution", self._distribution)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: self.capability)
        monkeypatch.setitem(sys.modules, "flash_attn", self._package)
        monkeypatch.setitem(sys.modules, "flash_attn.cute", self._cute)

    def install(self, name: str, **functions: object) -> None:
        self._installed.add(name)
        vars(self._package if name == "flash-attn" else self._cute).update(functions)

    def install_flash2(self) -> None:
        self.install("flash-attn", flash_attn_varlen_func=flash2_varlen, flash_attn_with_kvcache=flash2_with_kvcache)

    def install_flash4(self) -> None:
        self.install("flash-attn-4", flash_attn_varlen_func=flash4_varlen)

    def _distribution(self, name: str) -> None:
        if name not in self._installed:
            raise PackageNotFoundError(name)
