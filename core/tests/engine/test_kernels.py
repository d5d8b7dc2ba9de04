"""Both kernels against attention written out, and the choice between them."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from toolglot.engine.batch import Group
from toolglot.engine.kernels import FlashKernels, SdpaKernels, Shape, choose, largest_difference
from toolglot.errors import ModelError

SHAPE = Shape(query_heads=6, key_heads=2, size=16)
LIKE = torch.empty(0)


def attention(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float) -> torch.Tensor:
    """One sequence [tokens, heads, size], head by head and token by token; the queries are its last tokens'."""
    result = torch.empty_like(query)
    shared = query.shape[1] // keys.shape[1]
    for token in range(len(query)):
        seen = len(keys) - len(query) + token + 1
        for head in range(query.shape[1]):
            weights = (keys[:seen, head // shared] @ query[token, head] * scale).softmax(0)
            result[token, head] = weights @ values[:seen, head // shared]
    return result


def gather(pool: torch.Tensor, table: torch.Tensor, length: int) -> torch.Tensor:
    return torch.cat([pool[page] for page in table.tolist()])[:length]


def varlen(
    query, keys, values, *, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal, block_table
):
    """What flash-attn's flash_attn_varlen_func does, as its documentation has it."""
    assert causal
    assert all(offsets.dtype == torch.int32 for offsets in (cu_seqlens_q, cu_seqlens_k, block_table))
    lengths = cu_seqlens_k.diff().tolist()
    assert max_seqlen_k == max(lengths)
    assert max_seqlen_q == max(cu_seqlens_q.diff().tolist())
    return torch.cat(
        [
            attention(query[start:end], gather(keys, table, length), gather(values, table, length), softmax_scale)
            for (start, end), table, length in zip(pairwise(cu_seqlens_q.tolist()), block_table, lengths, strict=True)
        ]
    )


def with_kvcache(query, keys, values, *, cache_seqlens, block_table, softmax_scale, causal):
    """What flash_attn_with_kvcache does when it is given no new keys."""
    assert causal
    assert cache_seqlens.dtype == block_table.dtype == torch.int32
    return torch.stack(
        [
            attention(row, gather(keys, table, length), gather(values, table, length), softmax_scale)
            for row, table, length in zip(query, block_table, cache_seqlens.tolist(), strict=True)
        ]
    )


FLASH = FlashKernels(varlen, with_kvcache)


@pytest.mark.parametrize("kernels", [SdpaKernels(4), SdpaKernels(16)], ids=["pages of 4", "pages of 16"])
@pytest.mark.parametrize(
    ("kind", "queries", "keys"),
    [
        ("decode", [1], [1]),
        ("decode", [1, 1, 1], [9, 1, 16]),
        ("chunks", [5], [5]),
        ("chunks", [2, 16, 3], [2, 16, 3]),
        ("chunks", [3, 4, 2], [11, 4, 13]),  # later chunks of their prompts
    ],
)
def test_sdpa_is_attention(kernels, kind, queries, keys):
    page = kernels.page_size
    pools = torch.randn(40, page, 2, 16), torch.randn(40, page, 2, 16)
    tables = (
        torch.randperm(40)[: len(keys) * 4].view(len(keys), 4).tolist()
        if page == 4
        else [[n] for n in range(len(keys))]
    )
    query = torch.randn(sum(queries), 6, 16)
    group = Group(queries, keys, tables, page_size=page, device=torch.device("cpu"))

    result = getattr(kernels, kind)(query, pools, group, 0.3)

    expected = [
        attention(rows, *(gather(pool, torch.tensor(table), length) for pool in pools), 0.3)
        for rows, table, length in zip(query.split(queries), tables, keys, strict=True)
    ]
    torch.testing.assert_close(result, torch.cat(expected))


def test_flash_is_called_as_its_documentation_says():
    assert largest_difference(FLASH, SHAPE, LIKE) < 1e-5


@pytest.mark.parametrize(
    "wrong",
    [
        FlashKernels(lambda *args, **kwargs: varlen(*args, **kwargs | {"softmax_scale": 1.0}), with_kvcache),
        FlashKernels(varlen, lambda *args, **kwargs: with_kvcache(*args, **kwargs) + 0.1),
    ],
    ids=["varlen", "with_kvcache"],
)
def test_kernels_that_compute_something_else_are_noticed(wrong):
    assert largest_difference(wrong, SHAPE, LIKE) > 0.05


def test_sdpa_is_chosen_on_the_cpu_and_the_reason_given():
    kernels, reason = choose("auto", SHAPE, LIKE)

    assert isinstance(kernels, SdpaKernels)
    assert reason == "flash-attn needs CUDA, and the model is on the CPU"


@pytest.mark.parametrize(
    ("choice", "message"),
    [("flash", "attention `flash` cannot run: flash-attn needs CUDA"), ("flash3", "unknown attention 'flash3'")],
)
def test_an_explicit_choice_that_cannot_run_is_an_error(choice, message):
    with pytest.raises(ModelError, match=message):
        choose(choice, SHAPE, LIKE)
