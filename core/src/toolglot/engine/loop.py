"""The engine's thread: it takes requests in, and runs them all together, one step after the other."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import torch

from toolglot.engine.attention import BatchStep
from toolglot.engine.batch import Batch
from toolglot.engine.choosing import Chooser, mask
from toolglot.engine.graphs import Graphs
from toolglot.engine.kernels import Kernels
from toolglot.engine.kv_cache import KVCache
from toolglot.engine.model import Model
from toolglot.engine.protocol import EngineStats, SamplingParams, TokenDelta
from toolglot.engine.scheduler import Piece, Scheduler
from toolglot.engine.sequence import Outcome, Sequence
from toolglot.errors import EngineError

_logger = logging.getLogger(__name__)

_PROBE_SECONDS: Final = 5.0
"""How often an engine whose last forward pass failed tries one by itself."""


class Loop:
    """Runs sequences until :meth:`stop`. Others use :meth:`start`, :meth:`submit`, :meth:`stop`, :attr:`live`,
    :attr:`alive`, :attr:`stats` and :attr:`failures` only.

    ``runner`` makes the forward passes of ``model``: it itself, or graphs of them.
    ``deliver`` is called once a step, in this thread, with what happened to each sequence; it raises RuntimeError when
    nobody listens any more, which ends the loop.
    """

    def __init__(
        self,
        model: Model,
        kernels: Kernels,
        cache: KVCache,
        scheduler: Scheduler,
        *,
        runner: Model | Graphs,
        chooser: Chooser,
        deliver: Callable[[list[tuple[Sequence, Outcome]]], object],
    ) -> None:
        self._model, self._kernels, self._cache = model, kernels, cache
        self._scheduler, self._runner, self._chooser = scheduler, runner, chooser
        self._deliver = deliver
        self.live: set[Sequence] = set()
        """All sequences that wait or run."""
        self.failures = 0
        """How many forward passes failed since the last one that did not."""
        self._inbox: deque[Sequence] = deque()
        self._outcomes: list[tuple[Sequence, Outcome]] = []
        self._wake = threading.Event()
        self._stopping = False
        self._pool = ThreadPoolExecutor(1, "toolglot-engine-masks")
        self._thread = threading.Thread(target=self._run, name="toolglot-engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, sequence: Sequence) -> None:
        """Queue a sequence."""
        self.live.add(sequence)
        self._inbox.append(sequence)
        self._wake.set()

    def stop(self) -> None:
        """Abort all sequences and end the thread; returns when it has ended."""
        self._stopping = True
        self._wake.set()
        self._thread.join()

    @property
    def stats(self) -> EngineStats:
        """What it does at the moment."""
        return self._scheduler.stats

    @property
    def alive(self) -> bool:
        """Whether the thread runs, and takes in what is submitted."""
        return self._thread.is_alive() and not self._stopping

    @torch.inference_mode()
    def _run(self) -> None:
        try:
            while not self._stopping:
                self._turn()
        finally:  # also when a defect ends the loop: nobody waits for ever
            self._stopping = True
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._receive()
            self._abort(self._scheduler.sequences)
            self._flush()

    def _turn(self) -> None:
        self._receive()
        self._abort([sequence for sequence in self._scheduler.sequences if sequence.cancelled])
        if pieces := self._drafted(self._scheduler.schedule()):
            self._step(pieces)
        self._flush()
        if not self._scheduler.sequences or (not pieces and self._is_stalled()):
            self._rest()

    def _rest(self) -> None:
        """Wait for requests. Where a pass has failed, nobody may send one until another succeeds: try one alone."""
        if not self._wake.wait(_PROBE_SECONDS if self.failures else None):
            self._scheduler.add(Sequence([0], SamplingParams(max_tokens=1), None, 0, asyncio.Queue()))
        self._wake.clear()  # only here: what comes while it works is seen when it would wait

    def _receive(self) -> None:
        while self._inbox:
            self._scheduler.add(self._inbox.popleft())

    def _abort(self, sequences: list[Sequence]) -> None:
        for sequence in sequences:
            self._end(sequence, TokenDelta(finish="abort"))

    def _drafted(self, pieces: list[Piece]) -> list[Piece]:
        """The pieces with what may come after them, without those that cannot be computed yet."""
        ready = [piece for piece in pieces if not piece.completes or self._prepared(piece.sequence)]
        return self._scheduler.extend(self._left(ready))

    def _prepared(self, sequence: Sequence) -> bool:
        """Prepare what chooses the sequence's next token; False while that is being done elsewhere."""
        if not getattr(sequence.constraint, "lazy", False):
            self._guarded(sequence, partial(self._chooser.prepare, sequence))
            return True
        if sequence.preparing is None:  # a mask may take a second: no other sequence waits for it
            sequence.preparing = self._pool.submit(self._chooser.prepare_masks, sequence)
            sequence.preparing.add_done_callback(lambda _: self._wake.set())
        if not sequence.preparing.done():
            return False
        work, sequence.preparing = sequence.preparing, None
        self._guarded(sequence, work.result)
        return True

    def _is_stalled(self) -> bool:
        """Whether all that run are being prepared."""
        work = [sequence.preparing for sequence in self._scheduler.running]
        return bool(work) and all(one is not None and not one.done() for one in work)

    def _step(self, pieces: list[Piece]) -> None:
        try:
            batch = Batch(pieces, block_size=self._kernels.block_size, device=self._model.device)
            logits = self._runner.forward(BatchStep(batch, self._cache, self._kernels))
            mask(batch.complete, logits, self._guarded)
        except Exception as error:  # noqa: BLE001  whatever torch raises costs this batch at most, and the loop goes on
            self._recover(self._left(pieces), error)
            return
        self.failures = 0
        self._end_broken(batch, logits)
        running = {*self._scheduler.running}  # but for those that have just ended
        self._scheduler.advance(piece for piece in pieces if piece.sequence in running)
        for piece, row in batch.complete:
            if piece.sequence in running:
                rows = logits[row : row + 1 + piece.drafts]
                self._guarded(piece.sequence, partial(self._next, piece, rows))

    def _end_broken(self, batch: Batch, logits: torch.Tensor) -> None:
        """End the sequences for which no numbers came out. In blocks that others get, such keys would break theirs."""
        broken = logits.amax(-1).isnan().tolist()
        running = {*self._scheduler.running}
        for piece, row in batch.ends:
            if piece.sequence in running and any(broken[row : row + 1 + piece.drafts]):
                _logger.error("a request failed: the model computed no numbers for it")
                self._cache.clear(self._scheduler.blocks.forget(piece.sequence.blocks))
                self._fail(piece.sequence, ArithmeticError())

    def _left(self, pieces: list[Piece]) -> list[Piece]:
        """The pieces of sequences that did not end meanwhile."""
        running = {*self._scheduler.running}
        return [piece for piece in pieces if piece.sequence in running]

    def _recover(self, pieces: list[Piece], error: Exception) -> None:
        if is_out_of_memory(error) and self._scheduler.shrink():
            _logger.warning("out of memory: a forward pass now takes %d tokens at most", self._scheduler.budget)
            return  # all of these sequences are as they were, and are scheduled again
        self.failures += 1
        tried = any(piece.sequence in self.live for piece in pieces)  # not by itself: then it is the same again
        _logger.error("a forward pass failed: %r", error, exc_info=error if tried else None)
        for piece in pieces:
            self._fail(piece.sequence, error)

    def _next(self, piece: Piece, logits: torch.Tensor) -> None:
        delta = self._chooser.choose(piece, logits)
        if delta.speculation is not None:
            self._scheduler.accept(piece.sequence, delta.speculation.accepted)
        if delta.finish is None:
            self._outcomes.append((piece.sequence, delta))
        else:
            self._end(piece.sequence, delta)

    def _guarded(self, sequence: Sequence, work: Callable[[], object]) -> None:
        """Do ``work`` for a sequence; what goes wrong in it costs this sequence only."""
        try:
            work()
        except EngineError as error:
            self._end(sequence, error)
        except Exception as error:  # sampler, matcher and torch raise whatever they like
            _logger.exception("a request failed")
            self._fail(sequence, error)

    def _fail(self, sequence: Sequence, cause: Exception) -> None:
        error = EngineError(f"generation failed ({type(cause).__name__}); the server's log has more")
        error.__cause__ = cause
        self._end(sequence, error)

    def _end(self, sequence: Sequence, outcome: Outcome) -> None:
        self._scheduler.drop(sequence)
        self.live.discard(sequence)
        self._outcomes.append((sequence, outcome))

    def _flush(self) -> None:
        outcomes, self._outcomes = self._outcomes, []
        if not outcomes:
            return
        try:
            self._deliver(outcomes)
        except RuntimeError:  # the event loop is closed
            self._stopping = True


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory was missing. On the CPU, torch has no error of its own for that; all else has Python's."""
    cpu = "DefaultCPUAllocator: can't allocate memory" in str(error)
    return cpu or isinstance(error, torch.OutOfMemoryError | MemoryError)
