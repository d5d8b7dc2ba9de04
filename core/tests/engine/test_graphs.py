"""Decoding from graphs, with a stand-in for CUDA's: what was captured is computed again, from the same tensors."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from core.tests.engine import flash_stand_ins as flash_attn
from core.tests.engine.test_architectures import ARCHITECTURES
from torch.utils._python_dispatch import TorchDispatchMode

from toolglot.engine import graphs, kernels
from toolglot.engine.attention import BatchStep, Layer
from toolglot.engine.batch import Batch
from toolglot.engine.flash import Flash2Kernels, Flash4Kernels
from toolglot.engine.graphs import Graphs, Run
from toolglot.engine.kv_cache import KVCache
from toolglot.engine.model import Model
from toolglot.engine.protocol import SamplingParams
from toolglot.engine.scheduler import Piece
from toolglot.engine.sequence import Sequence

FLASH = {
    "flash2": Flash2Kernels(flash_attn.flash2_varlen, flash_attn.flash2_with_kvcache),
    "flash4": Flash4Kernels(flash_attn.flash4_varlen),
}
CPU = torch.device("cpu")
MAX_NUM_SEQS, MAX_MODEL_LEN, BLOCKS = 6, 40, 60
SPARE = BLOCKS


class Capture:
    """Takes graphs, and counts how often one of each size is replayed; its results are all in the same place."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.replays: Counter[int] = Counter()

    def __call__(self, run: Run) -> Run:
        result = run()
        size = len(result)
        self.sizes.append(size)

        def replay() -> torch.Tensor:
            self.replays[size] += 1
            return result.copy_(run())

        return replay


@pytest.fixture
def capture() -> Capture:
    return Capture()


@pytest.fixture
def model(checkpoint: Path) -> Model:
    return Model(checkpoint, device=CPU)


class Decoder:
    """A model, a cache full of noise, and graphs."""

    def __init__(self, model: Model, capture: Callable[[Run], Run]) -> None:
        self.model, self.kernels = model, Flash4Kernels(flash_attn.flash4_varlen)
        self.kernels.block_size = 4  # it takes any
        self.cache = KVCache(model.layers, blocks=BLOCKS + 1, block_size=4, like=model.like)
        self.fill()
        self.graphs = Graphs(
            model, self.kernels, self.cache,
            max_num_seqs=MAX_NUM_SEQS, max_model_len=MAX_MODEL_LEN, spare_block=SPARE, capture=capture,
        )  # fmt: skip

    def step(self, lengths: list[int], counts: list[int] | None = None) -> BatchStep:
        """The last tokens of sequences of these lengths, in blocks of their own."""
        blocks = random.Random(sum(lengths)).sample(range(BLOCKS), BLOCKS)
        pieces = []
        for length, count in zip(lengths, counts or [1] * len(lengths), strict=True):
            own = [blocks.pop() for _ in range(-(-length // 4))]
            tokens = [(7 * length + at) % 96 for at in range(length)]
            sequence = Sequence(tokens, SamplingParams(max_tokens=1), None, 0, asyncio.Queue(), blocks=own)
            sequence.computed = length - count
            pieces.append(Piece(sequence, count))
        return BatchStep(Batch(pieces, block_size=4, device=CPU), self.cache, self.kernels)

    def fill(self) -> None:
        for pools in self.cache._pools:
            for pool in pools:
                pool.copy_(torch.randn(pool.shape))

    def stored(self) -> list[torch.Tensor]:
        return [pool[:SPARE].clone() for pools in self.cache._pools for pool in pools]


@pytest.fixture
def decoder(model: Model, capture: Capture) -> Decoder:
    return Decoder(model, capture)


def test_graphs_are_captured_for_powers_of_two_and_the_most_sequences(decoder, capture):
    assert capture.sizes == [6, 4, 2, 1]


@torch.inference_mode()
def test_a_padded_pass_computes_and_stores_what_the_model_does(decoder, capture):
    capture.replays.clear()
    for lengths in ([40, 1, 13, 8, 9], [3], [4, 40, 40, 22, 1, 17], [39, 5], [6, 6, 6]):
        step = decoder.step(lengths)
        decoder.fill()
        expected = decoder.model.forward(step)
        stored = decoder.stored()
        for pools in decoder.cache._pools:
            for pool in pools:
                pool.view(-1, *pool.shape[2:])[step.batch.slots] = 0

        result = decoder.graphs.forward(step)

        torch.testing.assert_close(result, expected, atol=1e-3, rtol=1e-3)
        torch.testing.assert_close(decoder.stored(), stored, atol=1e-3, rtol=1e-3)
    assert capture.replays == {6: 2, 1: 1, 2: 1, 4: 1}


@torch.inference_mode()
def test_results_are_not_written_over_by_the_next_pass(decoder):
    first = decoder.graphs.forward(decoder.step([9, 12]))
    before = first.clone()

    decoder.graphs.forward(decoder.step([30, 2]))

    assert torch.equal(first, before)


@torch.inference_mode()
def test_passes_with_chunks_and_larger_ones_are_not_replayed(decoder, capture):
    capture.replays.clear()
    for step in (decoder.step([9, 12], [1, 5]), decoder.step([5] * 7)):
        torch.testing.assert_close(decoder.graphs.forward(step), decoder.model.forward(step))
    assert not capture.replays


@torch.inference_mode()
@pytest.mark.parametrize("kind", ["fails", "leaves its result as it was"])
def test_without_graphs_that_can_be_trusted_passes_run_as_ever(model, caplog, kind):
    def useless(run: Run) -> Run:
        result = run()
        if kind == "fails" and len(result) == 2:
            raise RuntimeError("operation not permitted when stream is capturing")
        return (lambda: result) if kind != "fails" else run

    decoder = Decoder(model, useless)

    step = decoder.step([9, 12])
    torch.testing.assert_close(decoder.graphs.forward(step), model.forward(step))
    record = next(record for record in caplog.records if record.levelno == logging.WARNING)
    assert record.getMessage() == "CUDA graphs cannot be captured, so decoding is slower"
    assert record.exc_info is not None
    assert ("not permitted" if kind == "fails" else "something else") in decoder.graphs.found


@pytest.mark.parametrize("name", FLASH)
async def test_an_engine_with_flash_and_graphs_says_what_generate_says(
    name, each_checkpoint, serve, reference, capture, collect, monkeypatch
):
    monkeypatch.setattr(kernels, "choose", lambda *_: (FLASH[name], "for the test"))
    monkeypatch.setattr(graphs, "capture_on", lambda device: capture)
    prompts = [[(n * 13 + length) % 96 for n in range(length)] for length in (1, 3, 8, 40, 130, 200)]
    expected = reference(each_checkpoint, prompts, 20)
    engine = await serve(each_checkpoint, max_num_seqs=5)
    capture.replays.clear()

    outputs = await asyncio.gather(*(collect(engine, prompt, 20) for prompt in prompts))

    for said, (tokens, _) in zip(expected, outputs, strict=True):
        said.is_left_by(tokens)
    assert capture.sizes == [5, 4, 2, 1]
    assert capture.replays[5]
    assert engine.info.facts["cuda_graphs"] == "for 1 2 4 5 sequences"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"enforce_eager": True}, "none, as asked"), ({"attention": "sdpa"}, "none with sdpa")],
)
async def test_nothing_is_captured_when_told_so_or_by_kernels_that_cannot_be(
    checkpoint, serve, capture, collect, monkeypatch, settings, reason
):
    if "attention" not in settings:
        monkeypatch.setattr(kernels, "choose", lambda *_: (FLASH["flash2"], "for the test"))
    monkeypatch.setattr(graphs, "capture_on", lambda device: capture)

    engine = await serve(checkpoint, **settings)
    await collect(engine, [1, 2, 3])

    assert not capture.sizes
    assert engine.info.facts["cuda_graphs"] == reason


def test_nothing_captures_on_the_cpu():
    assert graphs.capture_on(CPU) is None


class NoReading(TorchDispatchMode):
    """Fails where a value of a tensor is read, or decides about a shape: a graph cannot hold that."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name().partition(".")[0].removeprefix("aten::")
        masks = name in ("index", "index_put_") and any(at is not None and at.dtype == torch.bool for at in args[1])
        reads = masks or name.startswith(("_local_scalar", "nonzero", "masked_select", "unique", "_unique", "equal"))
        assert not reads, f"{name} reads a tensor"
        return func(*args, **kwargs or {})


def test_what_reads_a_tensor_is_noticed():
    for read in (
        lambda: torch.ones(1).item(),
        lambda: torch.ones(3).nonzero(),
        lambda: torch.ones(3)[torch.ones(3) > 0],
    ):
        with pytest.raises(AssertionError, match="reads a tensor"), NoReading():
            read()


class NoAttention:
    """A step without attention."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch

    def attend(self, layer: Layer) -> torch.Tensor:
        return layer.query[..., : layer.value.shape[-1]]


@torch.inference_mode()
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_pass_reads_no_tensor(architecture, shape, save, decoder):
    config, settings = ARCHITECTURES[architecture]
    model = Model(save(config(**shape | settings)), device=CPU)
    step = NoAttention(decoder.step([9, 12]).batch)

    with NoReading():
        model.forward(step)
