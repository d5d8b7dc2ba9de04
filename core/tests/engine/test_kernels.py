"""Both kernels against attention written out, and the choice between them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch

from toolglot.engine.batch import Group
from toolglot.engine.kernels import FlashKernels, SdpaKernels, choose, largest_difference
from toolglot.engine.shapes import LayerShape, Scoring
from toolglot.errors import ModelError

LAYER = LayerShape(query_heads=6, key_heads=2, key_size=16, value_size=16, scoring=Scoring(0.3))
SCORINGS = [Scoring(0.3), Scoring(0.3, window=4), Scoring(0.3, softcap=0.7), Scoring(0.2, window=1, softcap=2.0)]
LIKE = torch.empty(0)


def layer(scoring: Scoring) -> LayerShape:
    return LayerShape(query_heads=6, key_heads=2, key_size=16, value_size=16, scoring=scoring)


def attention(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scoring: Scoring) -> torch.Tensor:
    """One sequence [tokens, heads, size], head by head and token by token; the queries are its last tokens'."""
    result = torch.empty(*query.shape[:2], values.shape[-1])
    shared = query.shape[1] // keys.shape[1]
    for token in range(len(query)):
        end = len(keys) - len(query) + token + 1
        start = 0 if scoring.window is None else max(0, end - scoring.window)
        for head in range(query.shape[1]):
            scores = keys[start:end, head // shared] @ query[token, head] * scoring.scale
            if scoring.softcap is not None:
                scores = scoring.softcap * torch.tanh(scores / scoring.softcap)
            result[token, head] = scores.softmax(0) @ values[start:end, head // shared]
    return result


def gather(pool: torch.Tensor, table: torch.Tensor, length: int) -> torch.Tensor:
    return torch.cat([pool[block] for block in table.tolist()])[:length]


def asked(softmax_scale: float, causal: bool, window_size: tuple[int, int], softcap: float) -> Scoring:
    """What flash-attn is asked for, as its documentation has it: how many keys to the left and to the right are seen,
    -1 for all; 0 for no soft-cap.
    """
    assert causal
    left, right = window_size
    assert right in (-1, 0)
    return Scoring(softmax_scale, None if left == -1 else left + 1, softcap or None)


def varlen(query, keys, values, *, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, block_table, **scoring: Any):
    """What flash-attn's flash_attn_varlen_func does, as its documentation has it."""
    assert all(offsets.dtype == torch.int32 for offsets in (cu_seqlens_q, cu_seqlens_k, block_table))
    lengths = cu_seqlens_k.diff().tolist()
    assert max_seqlen_k == max(lengths)
    assert max_seqlen_q == max(cu_seqlens_q.diff().tolist())
    return torch.cat(
        [
            attention(query[start:end], gather(keys, table, length), gather(values, table, length), asked(**scoring))
            for (start, end), table, length in zip(pairwise(cu_seqlens_q.tolist()), block_table, lengths, strict=True)
        ]
    )


def with_kvcache(query, keys, values, *, cache_seqlens, block_table, **scoring: Any):
    """What flash_attn_with_kvcache does when it is given no new keys."""
    assert cache_seqlens.dtype == block_table.dtype == torch.int32
    return torch.stack(
        [
            attention(row, gather(keys, table, length), gather(values, table, length), asked(**scoring))
            for row, table, length in zip(query, block_table, cache_seqlens.tolist(), strict=True)
        ]
    )


FLASH = FlashKernels(varlen, with_kvcache)


@pytest.mark.parametrize("kernels", [SdpaKernels(4), SdpaKernels(16)], ids=["blocks of 4", "blocks of 16"])
@pytest.mark.parametrize("scoring", SCORINGS, ids=["plain", "window", "softcap", "both"])
@pytest.mark.parametrize("value_size", [16, 8])
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
def test_sdpa_is_attention(kernels, scoring, value_size, kind, queries, keys):
    block = kernels.block_size
    pools = torch.randn(40, block, 2, 16), torch.randn(40, block, 2, value_size)
    tables = (
        torch.randperm(40)[: len(keys) * 4].view(len(keys), 4).tolist()
        if block == 4
        else [[n] for n in range(len(keys))]
    )
    query = torch.randn(sum(queries), 6, 16)
    group = Group(queries, keys, tables, block_size=block, device=torch.device("cpu"))

    result = getattr(kernels, kind)(query, pools, group, scoring)

    expected = [
        attention(rows, *(gather(pool, torch.tensor(table), length) for pool in pools), scoring)
        for rows, table, length in zip(query.split(queries), tables, keys, strict=True)
    ]
    torch.testing.assert_close(result, torch.cat(expected))


@pytest.mark.parametrize("scoring", SCORINGS, ids=["plain", "window", "softcap", "both"])
def test_flash_is_called_as_its_documentation_says(scoring):
    assert largest_difference(FLASH, layer(scoring), LIKE) < 1e-5


@pytest.mark.parametrize(
    ("wrong", "scoring"),
    [
        (FlashKernels(lambda *args, **given: varlen(*args, **given | {"softmax_scale": 1.0}), with_kvcache), 0),
        (FlashKernels(lambda *args, **given: varlen(*args, **given | {"window_size": (4, 0)}), with_kvcache), 1),
        (FlashKernels(lambda *args, **given: varlen(*args, **given | {"softcap": 0.0}), with_kvcache), 2),
        (FlashKernels(varlen, lambda *args, **given: with_kvcache(*args, **given) + 0.1), 0),
    ],
    ids=["scale", "window", "softcap", "with_kvcache"],
)
def test_kernels_that_compute_something_else_are_noticed(wrong, scoring):
    assert largest_difference(wrong, layer(SCORINGS[scoring]), LIKE) > 0.05


def test_sdpa_is_chosen_on_the_cpu_and_the_reason_given():
    kernels, reason = choose("auto", [LAYER], LIKE)

    assert isinstance(kernels, SdpaKernels)
    assert reason == "flash-attn needs CUDA, and the model is on the CPU"


@pytest.mark.parametrize(
    ("choice", "message"),
    [("flash", "attention `flash` cannot run: flash-attn needs CUDA"), ("flash3", "unknown attention 'flash3'")],
)
def test_an_explicit_choice_that_cannot_run_is_an_error(choice, message):
    with pytest.raises(ModelError, match=message):
        choose(choice, [LAYER], LIKE)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_it_makes_no_difference_whether_blocks_follow_each_other(scoring):
    pools = torch.randn(9, 8, 2, 16), torch.randn(9, 8, 2, 16)
    for pool in pools:
        pool[[8, 1, 6]] = pool[[3, 4, 5]]
    query = torch.randn(1, 6, 16)
    runs, elsewhere = (Group([1], [19], [row], block_size=8, device=LIKE.device) for row in ([3, 4, 5], [8, 1, 6]))

    assert (runs.run, elsewhere.run) == (slice(3, 6), None)
    assert torch.equal(*(SdpaKernels(8).decode(query, pools, group, scoring) for group in (runs, elsewhere)))
