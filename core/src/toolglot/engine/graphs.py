"""Decoding from CUDA graphs: the pass that takes in one token of each sequence, recorded for some batch sizes and then
replayed without Python, which would keep the GPU waiting.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import torch

from toolglot.checkpoints.progress import progress
from toolglot.engine.attention import BatchStep
from toolglot.engine.batch import Batch
from toolglot.engine.kernels import Kernels
from toolglot.engine.kv_cache import KVCache
from toolglot.engine.model import Model
from toolglot.engine.protocol import SamplingParams
from toolglot.engine.scheduler import Piece
from toolglot.engine.sequence import Sequence

Run: TypeAlias = Callable[[], torch.Tensor]
Capture: TypeAlias = Callable[[Run], Run]
"""Takes a function that computes something from tensors that stay where they are, and returns one that does the same
work again, on what the tensors hold then.
"""

_logger = logging.getLogger(__name__)

_TOLERANCE: Final = 0.05
"""How far a replayed pass may lie from another one, as a share of the largest logit: both may use other kernels."""


class Graphs:
    """The forward passes of a model, those that only decode from graphs, which are captured at construction.

    A batch is padded to the next size that there is a graph for. What is padded is a sequence of one token, in
    ``spare_block``, which nobody else may use. What cannot be captured is logged, and all passes then run without.
    """

    def __init__(
        self,
        model: Model,
        kernels: Kernels,
        cache: KVCache,
        *,
        max_num_seqs: int,
        max_model_len: int,
        spare_block: int,
        capture: Capture,
    ) -> None:
        self._model, self._kernels, self._cache, self._capture = model, kernels, cache, capture
        self._padding = _one_token(spare_block)
        self._replays: dict[int, Run] = {}
        self._inputs = _inputs(self._padded(max_num_seqs))
        width = -(-max_model_len // kernels.block_size)
        self._inputs[-1] = self._inputs[-1].repeat(1, width)
        self._pads = [tensor[-1].clone() for tensor in self._inputs]
        self.found = self._capture_all(_sizes(max_num_seqs))
        """For how many sequences there are graphs, or why there are none."""

    def forward(self, step: BatchStep) -> torch.Tensor:
        """As :meth:`Model.forward`."""
        count = len(step.batch.decodes)
        size = min((size for size in self._replays if size >= count), default=None)
        if size is None or len(step.batch.chunks):
            return self._model.forward(step)
        for buffer, given, pad in zip(self._inputs, _inputs(step.batch), self._pads, strict=True):
            buffer[tuple(map(slice, given.shape))] = given
            buffer[count:size] = pad
        return self._replays[size]()[:count].clone()

    @torch.inference_mode()
    def _capture_all(self, sizes: list[int]) -> str:
        try:
            with progress("Capturing CUDA graphs") as report:
                for done, size in enumerate(reversed(sizes)):  # the largest first: the others take its memory
                    report(done, len(sizes))
                    self._replays[size] = self._captured(size)
        except Exception as error:  # models and kernels that cannot be captured raise whatever they like
            self._replays.clear()
            _logger.warning("CUDA graphs cannot be captured, so decoding is slower", exc_info=error)
            return f"none, {type(error).__name__}: {error}"
        return f"for {' '.join(map(str, sizes))} sequences"

    def _captured(self, size: int) -> Run:
        """What replays a pass over ``size`` rows of the buffers. Raises RuntimeError: it computes something else."""
        batch = self._padded(size)
        rows = [buffer[:size] for buffer in self._inputs]
        batch.token_ids, batch.positions, batch.slots, batch.decodes.lengths, batch.decodes.tables = rows
        run = partial(self._model.forward, BatchStep(batch, self._cache, self._kernels))
        run()  # what is compiled or allocated at the first use is not recorded
        replay = self._capture(run)
        for tensor in rows[:-1]:  # another token, in the next place: what was recorded as it was would look right
            tensor += 1
        expected = run()
        difference = (replay() - expected).abs().max()
        if not difference <= _TOLERANCE * expected.abs().max():
            raise RuntimeError(f"a graph for {size} sequences computes something else than the model")
        for tensor in rows[:-1]:
            tensor -= 1
        return replay

    def _padded(self, size: int) -> Batch:
        return Batch([self._padding] * size, block_size=self._kernels.block_size, device=self._model.device)


def capture_on(device: torch.device) -> Capture | None:
    """What captures on this device; None where nothing does."""
    return _cuda_capture() if device.type == "cuda" else None


def _cuda_capture() -> Capture:
    """Captures into one pool of memory: only one graph runs at a time."""
    memory = torch.cuda.graph_pool_handle()

    def capture(run: Run) -> Run:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=memory, capture_error_mode="thread_local"):
            result = run()

        def replay() -> torch.Tensor:
            graph.replay()
            return result

        return replay

    return capture


def _sizes(largest: int) -> list[int]:
    """Powers of two up to ``largest``, and that."""
    return [*(1 << bit for bit in range((largest - 1).bit_length())), largest]


def _inputs(batch: Batch) -> list[torch.Tensor]:
    """What a pass that only decodes reads, one row a sequence."""
    return [batch.token_ids, batch.positions, batch.slots, batch.decodes.lengths, batch.decodes.tables]


def _one_token(block: int) -> Piece:
    return Piece(Sequence([0], SamplingParams(max_tokens=1), None, 0, asyncio.Queue(), blocks=[block]), 1)
