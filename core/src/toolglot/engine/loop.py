"""The engine's thread: it takes requests in, and runs them all together, one step after the other."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

import torch
from msgspec.structs import replace

from toolglot.engine.attention import BatchStep
from toolglot.engine.batch import Batch, Piece
from toolglot.engine.kernels import Kernels
from toolglot.engine.kv_cache import KVCache
from toolglot.engine.logits import LogitsProcessor
from toolglot.engine.model import Model
from toolglot.engine.protocol import SamplingParams, TokenDelta, TokenLogprobs
from toolglot.engine.sampler import sample, token_logprobs
from toolglot.engine.sequence import Outcome, Sequence
from toolglot.errors import EngineError

_logger = logging.getLogger(__name__)


class Loop:
    """Runs sequences until :meth:`stop`. Others use :meth:`submit`, :attr:`live`, :attr:`alive` and :meth:`stop` only.

    ``deliver`` is called once a step, in this thread, with what happened to each sequence; it raises RuntimeError when
    nobody listens any more, which ends the loop.
    """

    def __init__(
        self,
        model: Model,
        kernels: Kernels,
        cache: KVCache,
        *,
        stop_ids: frozenset[int],
        max_num_seqs: int,
        max_batch_tokens: int,
        deliver: Callable[[list[tuple[Sequence, Outcome]]], object],
    ) -> None:
        self._model, self._kernels, self._cache = model, kernels, cache
        self._stop_ids = stop_ids
        self._max_num_seqs, self._max_batch_tokens = max_num_seqs, max(max_batch_tokens, 2 * max_num_seqs)
        self._deliver = deliver
        self.live: set[Sequence] = set()
        """All sequences that wait or run."""
        self._inbox: deque[Sequence] = deque()
        self._waiting: deque[Sequence] = deque()
        self._running: list[Sequence] = []
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
            self._abort(self._mine())
            self._flush()

    def _turn(self) -> None:
        self._wake.clear()
        self._receive()
        self._abort([sequence for sequence in self._mine() if sequence.cancelled])
        self._admit()
        if self._running:
            self._step()
        self._flush()
        if not self._mine():
            self._wake.wait()

    def _receive(self) -> None:
        while self._inbox:
            self._waiting.append(self._inbox.popleft())

    def _mine(self) -> list[Sequence]:
        return [*self._running, *self._waiting]

    def _abort(self, sequences: list[Sequence]) -> None:
        for sequence in sequences:
            self._end(sequence, TokenDelta(finish="abort"))

    def _admit(self) -> None:
        """Give free slots to those that wait, in order, as long as the cache has pages for all they may become."""
        while self._waiting and len(self._running) < self._max_num_seqs:
            sequence = self._waiting[0]
            pages = self._cache.reserve(sequence.reach)
            if pages is None:
                return
            self._waiting.popleft()
            sequence.pages = pages
            self._running.append(sequence)
            self._guarded(sequence, self._prepare)

    def _prepare(self, sequence: Sequence) -> None:
        sequence.generator = torch.Generator(self._model.device).manual_seed(sequence.seed)
        if sequence.constraint is not None:
            sequence.matcher = sequence.constraint.matcher()
        if LogitsProcessor.wanted(sampling := sequence.sampling):
            sequence.processor = LogitsProcessor(
                sampling, sequence.tokens, self._stops(sampling), self._model.vocab_size, self._model.device
            )

    def _step(self) -> None:
        pieces = self._schedule()
        try:
            batch = Batch(pieces, page_size=self._kernels.page_size, device=self._model.device)
            logits = self._model.forward(BatchStep(batch, self._cache, self._kernels))
        except Exception as error:  # whatever torch raises: it costs this batch, and the loop goes on
            _logger.exception("a forward pass failed")
            for piece in pieces:
                self._fail(piece.sequence, error)
        else:
            for piece, row in zip(batch.pieces, logits, strict=True):
                self._advance(piece, row)

    def _schedule(self) -> list[Piece]:
        """One token of every sequence that generates; what is left of the budget goes to prompts, first come first."""
        pieces = [Piece(sequence, 1) for sequence in self._running if sequence.pending == 1]
        budget = self._max_batch_tokens - len(pieces)
        for sequence in self._running:
            if sequence.pending > 1 and budget > 0:
                pieces.append(Piece(sequence, min(sequence.pending, budget)))
                budget -= pieces[-1].count
        return pieces

    def _advance(self, piece: Piece, logits: torch.Tensor) -> None:
        sequence = piece.sequence
        sequence.computed = piece.end
        if sequence.pending == 0:
            self._guarded(sequence, lambda sequence: self._take(sequence, *self._choose(sequence, logits)))

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
        delta = TokenDelta((token,), logprobs=logprobs)
        if self._is_over(sequence, token):
            stopped = token in self._stops(sequence.sampling)
            self._end(sequence, TokenDelta((), "stop", token) if stopped else replace(delta, finish="stop"))
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
        self._cache.release(sequence.pages)
        for queue in (self._running, self._waiting):
            if sequence in queue:
                queue.remove(sequence)
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
