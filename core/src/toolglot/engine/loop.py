"""The engine's thread: it takes requests in, and runs them all together, one step after the other."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

import torch
from msgspec.structs import replace

from toolglot.engine.attention import BatchStep
from toolglot.engine.batch import Batch
from toolglot.engine.kernels import Kernels
from toolglot.engine.kv_cache import KVCache
from toolglot.engine.logits import LogitsProcessor
from toolglot.engine.model import Model
from toolglot.engine.protocol import EngineStats, SamplingParams, TokenDelta, TokenLogprobs
from toolglot.engine.sampler import sample, token_logprobs
from toolglot.engine.scheduler import Piece, Scheduler
from toolglot.engine.sequence import Outcome, Sequence
from toolglot.errors import EngineError

_logger = logging.getLogger(__name__)

_PROBE_SECONDS: Final = 5.0
"""How often an engine whose last forward pass failed tries one by itself."""


class Loop:
    """Runs sequences until :meth:`stop`. Others use :meth:`start`, :meth:`submit`, :meth:`stop`, :attr:`live`,
    :attr:`alive`, :attr:`stats` and :attr:`failures` only.

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
        stop_ids: frozenset[int],
        deliver: Callable[[list[tuple[Sequence, Outcome]]], object],
    ) -> None:
        self._model, self._kernels, self._cache = model, kernels, cache
        self._scheduler = scheduler
        self._stop_ids = stop_ids
        self._deliver = deliver
        self.live: set[Sequence] = set()
        """All sequences that wait or run."""
        self.failures = 0
        """How many forward passes failed since the last one that did not."""
        self._inbox: deque[Sequence] = deque()
        self._outcomes: list[tuple[Sequence, Outcome]] = []
        self._wake = threading.Event()
        self._stopping = False
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
        """Whether the thread runs."""
        return self._thread.is_alive()

    @torch.inference_mode()
    def _run(self) -> None:
        try:
            while not self._stopping:
                self._turn()
        finally:  # also when a defect ends the loop: nobody waits for ever
            self._receive()
            self._abort(self._scheduler.sequences)
            self._flush()

    def _turn(self) -> None:
        self._receive()
        self._abort([sequence for sequence in self._scheduler.sequences if sequence.cancelled])
        if pieces := self._scheduler.schedule():
            self._step(pieces)
        self._flush()
        if not self._scheduler.sequences:
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

    def _step(self, pieces: list[Piece]) -> None:
        try:
            batch = Batch(pieces, block_size=self._kernels.block_size, device=self._model.device)
            logits = self._model.forward(BatchStep(batch, self._cache, self._kernels))
        except Exception as error:  # noqa: BLE001  whatever torch raises costs this batch at most, and the loop goes on
            self._recover(pieces, error)
            return
        self.failures = 0
        self._scheduler.advance(pieces)
        for piece, row in zip(batch.pieces, logits, strict=True):
            if piece.sequence.pending == 0:
                self._guarded(piece.sequence, partial(self._next, logits=row))

    def _recover(self, pieces: list[Piece], error: Exception) -> None:
        if is_out_of_memory(error) and self._scheduler.shrink():
            _logger.warning("out of memory: a forward pass now takes %d tokens at most", self._scheduler.budget)
            return  # all of these sequences are as they were, and are scheduled again
        self.failures += 1
        tried = any(piece.sequence in self.live for piece in pieces)  # not by itself: then it is the same again
        _logger.error("a forward pass failed: %r", error, exc_info=error if tried else None)
        for piece in pieces:
            self._fail(piece.sequence, error)

    def _next(self, sequence: Sequence, logits: torch.Tensor) -> None:
        """Choose the sequence's next token; before the first, make what chooses it."""
        if sequence.generator is None:
            self._prepare(sequence)
        self._take(sequence, *self._choose(sequence, logits))

    def _prepare(self, sequence: Sequence) -> None:
        sequence.generator = torch.Generator(self._model.device).manual_seed(sequence.seed)
        if sequence.constraint is not None:
            sequence.matcher = sequence.constraint.matcher()
        if LogitsProcessor.wanted(sampling := sequence.sampling):
            sequence.processor = LogitsProcessor(
                sampling, sequence.tokens, self._stops(sampling), self._model.vocab_size, self._model.device
            )

    def _choose(self, sequence: Sequence, logits: torch.Tensor) -> tuple[int, tuple[TokenLogprobs, ...]]:
        if sequence.matcher is not None:
            sequence.matcher.mask(logits)
        changed = logits if sequence.processor is None else sequence.processor(logits)
        token = sample(changed, sequence.sampling, sequence.generator)
        if sequence.matcher is not None and not sequence.matcher.accept(token):
            raise EngineError(f"the grammar rejected token {token}, which its own mask allowed")
        if sequence.processor is not None:
            sequence.processor.accept(token)
        count = sequence.sampling.logprobs
        return token, () if count is None else (token_logprobs(logits, token, count),)

    def _take(self, sequence: Sequence, token: int, logprobs: tuple[TokenLogprobs, ...]) -> None:
        """Append a token to its sequence, and say what that means."""
        sequence.tokens.append(token)
        sequence.generated += 1
        cached = (sequence.cached or 0) if sequence.generated == 1 else 0
        delta = TokenDelta((token,), logprobs=logprobs, cached_tokens=cached)
        if self._is_over(sequence, token):
            stopped = token in self._stops(sequence.sampling)
            told = replace(delta, token_ids=(), logprobs=(), stop_token=token) if stopped else delta
            self._end(sequence, replace(told, finish="stop"))
        elif sequence.generated == sequence.sampling.max_tokens:
            self._end(sequence, replace(delta, finish="length"))
        else:
            self._outcomes.append((sequence, delta))

    def _is_over(self, sequence: Sequence, token: int) -> bool:
        sampling = sequence.sampling
        if token in sampling.stop_token_ids:
            return True
        if sequence.matcher is not None:  # within a grammar a stop token can also be a marker
            return bool(sequence.matcher.finished)
        return token in self._stop_ids and not sampling.ignore_eos

    def _stops(self, sampling: SamplingParams) -> frozenset[int]:
        return self._stop_ids | sampling.stop_token_ids

    def _guarded(self, sequence: Sequence, work: Callable[[Sequence], None]) -> None:
        """Do ``work`` for a sequence; what goes wrong in it costs this sequence only."""
        try:
            work(sequence)
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
    """Whether memory was missing; on the CPU, torch has no error of its own for that."""
    return isinstance(error, torch.OutOfMemoryError) or "DefaultCPUAllocator: can't allocate memory" in str(error)
