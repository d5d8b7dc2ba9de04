"""All kernels against attention written out, and the choice between them."""

from __future__ import annotations

import logging

import pytest
import torch
from core.tests.engine import flash_stand_ins as flash_attn
from core.tests.engine.flash_stand_ins import Gpu

from toolglot.engine import kernels
from toolglot.engine.batch import Group
from toolglot.engine.flash import Flash2Kernels, Flash4Kernels
from toolglot.engine.kernels import SdpaKernels, choose, largest_difference
from toolglot.engine.shapes import LayerShape, Scoring
from toolglot.errors import ModelError

LAYER = LayerShape(query_heads=6, key_heads=2, key_size=16, value_size=16, scoring=Scoring(0.3))
SCORINGS = [Scoring(0.3), Scoring(0.3, window=4), Scoring(0.3, softcap=0.7), Scoring(0.2, window=1, softcap=2.0)]
LIKE = torch.empty(0)
FLASH2 = Flash2Kernels(flash_attn.flash2_varlen, flash_attn.flash2_with_kvcache)
FLASH4 = Flash4Kernels(flash_attn.flash4_varlen)


def layer(scoring: Scoring, value_size: int = 16) -> LayerShape:
    return LayerShape(query_heads=6, key_heads=2, key_size=16, value_size=value_size, scoring=scoring)


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


@pytest.mark.parametrize("kernels", [FLASH2, FLASH4], ids=["flash2", "flash4"])
@pytest.mark.parametrize("scoring", [*SCORINGS, Scoring(0.3, window=300)])
@pytest.mark.parametrize(("query_heads", "key_heads", "size"), [(6, 2, 16), (4, 4, 8), (8, 1, 64)])
def test_flash_is_called_as_its_signature_says(kernels, scoring, query_heads, key_heads, size):
    shape = LayerShape(query_heads, key_heads, size, size, scoring)

    assert largest_difference(kernels, shape, LIKE) < 1e-5


@pytest.mark.parametrize("kernels", [FLASH2, FLASH4], ids=["flash2", "flash4"])
@pytest.mark.parametrize("window", [None, 1, 7, 256, 1000])
def test_flash_is_sdpa_for_sequences_of_any_lengths(kernels, window):
    block = kernels.block_size
    queries = [1, 3, 300, block, 2 * block + 1]
    keys = [1, 3 * block, 300, block + 1, 3 * block - 5]
    tables = [[*range(row, 25, 5)] for row in range(5)]
    pools = torch.randn(25, block, 2, 16), torch.randn(25, block, 2, 16)
    for kind, lengths in (("decode", [1] * 5), ("chunks", queries)):
        query = torch.randn(sum(lengths), 6, 16)
        group = Group(lengths, keys, tables, block_size=block, device=torch.device("cpu"))

        result, expected = (
            getattr(each, kind)(query, pools, group, Scoring(0.3, window)) for each in (kernels, SdpaKernels(block))
        )

        torch.testing.assert_close(result, expected)


def test_flash4_takes_keys_and_values_of_different_sizes():
    assert largest_difference(FLASH4, layer(Scoring(0.3), value_size=8), LIKE) < 1e-5


def test_sdpa_reads_only_blocks_that_a_window_can_see():
    pools = torch.randn(8, 4, 2, 16), torch.randn(8, 4, 2, 16)
    for pool in pools:
        pool[:4] = torch.nan  # of both sequences' first 16 tokens
    for kind, queries in (("decode", [1, 1]), ("chunks", [3, 2])):
        group = Group(queries, [30, 27], [[0, 1, 2, 3, *range(4, 8)]] * 2, block_size=4, device=torch.device("cpu"))

        result = getattr(SdpaKernels(4), kind)(torch.randn(sum(queries), 6, 16), pools, group, Scoring(0.3, window=9))

        assert result.isfinite().all()


def without(function, **changed):
    return lambda *args, **given: function(*args, **given | changed)


@pytest.mark.parametrize(
    ("wrong", "scoring"),
    [
        (Flash2Kernels(without(flash_attn.flash2_varlen, softmax_scale=1.0), flash_attn.flash2_with_kvcache), 0),
        (Flash2Kernels(without(flash_attn.flash2_varlen, window_size=(4, 0)), flash_attn.flash2_with_kvcache), 1),
        (Flash2Kernels(without(flash_attn.flash2_varlen, softcap=0.0), flash_attn.flash2_with_kvcache), 2),
        (Flash2Kernels(without(flash_attn.flash2_varlen, causal=False), flash_attn.flash2_with_kvcache), 0),
        (Flash2Kernels(flash_attn.flash2_varlen, lambda query, *_, **__: query + torch.nan), 0),
        (Flash4Kernels(without(flash_attn.flash4_varlen, window_size=(2, 0))), 1),
        (Flash4Kernels(without(flash_attn.flash4_varlen, causal=False)), 0),
    ],
    ids=["scale", "window", "softcap", "causal", "nan", "4, window", "4, causal"],
)
def test_kernels_that_compute_something_else_are_noticed(wrong, scoring):
    assert not largest_difference(wrong, layer(SCORINGS[scoring]), LIKE) < 0.05


def test_sdpa_is_chosen_on_the_cpu_and_the_reason_given():
    chosen, reason = choose("auto", [LAYER], LIKE)

    assert isinstance(chosen, SdpaKernels)
    assert reason == "not flash2 nor flash4: it needs CUDA, and the model is on the CPU"


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("flash2", "--attention flash2 cannot run here: it needs CUDA, and the model is on the CPU"),
        ("flash3", "unknown attention 'flash3'; use auto, flash2, flash4, sdpa"),
    ],
)
def test_an_explicit_choice_that_cannot_run_is_an_error(choice, message):
    with pytest.raises(ModelError, match=message):
        choose(choice, [LAYER], LIKE)


@pytest.fixture
def gpu(monkeypatch) -> Gpu:
    return Gpu(monkeypatch)


def test_flash2_is_chosen_first(gpu):
    gpu.install_flash2()
    gpu.install_flash4()

    chosen, reason = choose("auto", [LAYER], LIKE)

    assert isinstance(chosen, Flash2Kernels)
    assert reason.startswith("flash2 agrees with sdpa within ")


def test_flash4_is_chosen_where_flash2_is_missing(gpu):
    gpu.install_flash4()

    chosen, reason = choose("auto", [LAYER], LIKE)

    assert isinstance(chosen, Flash4Kernels)
    assert 'not flash2: flash-attn is not installed: pip install "toolglot[cuda]"' in reason


def test_flash4_is_chosen_where_flash2_does_not_run_and_the_log_has_the_error(gpu, caplog):
    gpu.install("flash-attn")  # without its functions: built for another torch, say
    gpu.install_flash4()

    with caplog.at_level(logging.WARNING):
        chosen, reason = choose("auto", [LAYER], LIKE)

    assert isinstance(chosen, Flash4Kernels)
    assert "not flash2: it does not run: ImportError: cannot import name" in reason
    assert caplog.records[0].getMessage() == "attention: flash2 does not run here"
    assert caplog.records[0].exc_info


def test_flash4_is_chosen_for_keys_and_values_of_different_sizes(gpu):
    gpu.install_flash2()
    gpu.install_flash4()

    chosen, reason = choose("auto", [LAYER, layer(Scoring(0.3), value_size=8)], LIKE)

    assert isinstance(chosen, Flash4Kernels)
    assert "not flash2: it needs heads of one size" in reason


def test_sdpa_is_chosen_where_both_compute_something_else(gpu, monkeypatch):
    gpu.install_flash2()
    gpu.install_flash4()
    monkeypatch.setattr(kernels, "_TOLERANCE", 0.0)

    chosen, reason = choose("auto", [LAYER], LIKE)

    assert isinstance(chosen, SdpaKernels)
    assert "not flash2: it differs from sdpa by " in reason
    assert "not flash4: it differs from sdpa by " in reason


def test_a_window_that_is_one_off_is_noticed_also_where_windows_are_large(gpu):
    def one_more(*args, window_size, **given):
        return flash_attn.flash4_varlen(*args, window_size=(window_size[0] + 1, 0), **given)

    gpu.install("flash-attn-4", flash_attn_varlen_func=one_more)

    with pytest.raises(ModelError, match="it differs from sdpa by"):
        choose("flash4", [layer(Scoring(0.3, window=1000))], LIKE)


def test_flash4_needs_hopper_or_newer_and_says_so(gpu):
    gpu.install_flash4()
    gpu.capability = (8, 6)

    with pytest.raises(ModelError, match=r"GPUs of compute capability 9 to 11 only, and this one has 8\.6"):
        choose("flash4", [LAYER], LIKE)


def test_an_explicit_choice_takes_no_other(gpu):
    gpu.install_flash2()

    with pytest.raises(ModelError, match="flash-attn-4 is not installed: pip install --pre flash-attn-4"):
        choose("flash4", [LAYER], LIKE)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_it_makes_no_difference_whether_blocks_follow_each_other(scoring):
    pools = torch.randn(9, 8, 2, 16), torch.randn(9, 8, 2, 16)
    for pool in pools:
        pool[[8, 1, 6]] = pool[[3, 4, 5]]
    query = torch.randn(1, 6, 16)
    runs, elsewhere = (Group([1], [19], [row], block_size=8, device=LIKE.device) for row in ([3, 4, 5], [8, 1, 6]))

    assert (runs.run, elsewhere.run) == (slice(3, 6), None)
    assert torch.equal(*(SdpaKernels(8).decode(query, pools, group, scoring) for group in (runs, elsewhere)))
