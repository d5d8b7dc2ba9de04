"""The embedded engine: a model in this process, behind the engine protocol."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Sequence as Seq
from pathlib import Path
from typing import Any, Final

import torch

from toolglot.engine import graphs, kernels
from toolglot.engine.blocks import BlockPool
from toolglot.engine.choosing import Chooser
from toolglot.engine.drafts import PromptLookup
from toolglot.engine.grammars import Grammars
from toolglot.engine.graphs import Graphs
from toolglot.engine.kv_cache import KVCache, memory_for_cache, token_bytes
from toolglot.engine.loop import Loop
from toolglot.engine.model import Model
from toolglot.engine.protocol import Constraint, EngineStats, ModelInfo, SamplingParams
from toolglot.engine.scheduler import Scheduler
from toolglot.engine.sequence import Outcome, Sequence, TokenStream
from toolglot.engine.weights import Dtype, load_model
from toolglot.errors import EngineError, ModelError, QueueFullError
from toolglot.structural_tag import StructuralTag

_logger = logging.getLogger(__name__)

_BATCH_TOKENS: Final = {"cpu": 256, "cuda": 8192}
"""How many tokens one step takes in: enough to keep the device busy, few enough that streams do not stall."""

_FAILURES: Final = 3
"""After so many failed forward passes without one between them that did not, the engine is not ready."""

_SEED_BITS: Final = 63


class LocalEngine:
    """Runs the checkpoint in ``path``. The model is loaded at construction; requests run between start and stop.

    Args:
        path: A directory that transformers loads.
        name: The model's name in :attr:`info`.
        tokenizer: Its tokenizer: for the grammars, and for its end of sequence.
        dtype: The type of the weights: ``float32``, ``bfloat16``, ``int8`` (on the CPU), or ``auto``: bfloat16 on CUDA,
            and on the CPU int8 where that makes little difference, else float32.
        threads: torch's threads on the CPU, a setting of the whole process; by default one less than there are cores.
        max_model_len: The longest prompt and output together, in tokens; by default what model and memory allow.
        max_num_seqs: How many requests run at once.
        max_queue: How many more may wait.
        max_num_batched_tokens: How many tokens a forward pass takes in at most; at least two for each request.
        kv_cache_memory_bytes: The size of the cache; by default what the requests that run may need, within a share of
            the memory there is.
        lookup: Guess tokens that no grammar forces from those before; by default, none are.
        attention: ``flash2``, ``flash4``, ``sdpa``, or ``auto``: flash-attn where it runs, 2 before 4.
        enforce_eager: Do not decode from CUDA graphs.
        seed: Makes requests without a seed of their own reproducible, given the same order of requests.

    Raises:
        ModelError: the model does not load or cannot be run here; the message says why.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str,
        tokenizer: Any,
        dtype: Dtype = "auto",
        threads: int | None = None,
        max_model_len: int | None = None,
        max_num_seqs: int = 16,
        max_queue: int = 256,
        max_num_batched_tokens: int | None = None,
        kv_cache_memory_bytes: int | None = None,
        attention: kernels.Choice = "auto",
        lookup: PromptLookup | None = None,
        enforce_eager: bool = False,
        seed: int | None = None,
    ) -> None:
        torch.set_num_threads(threads or max(1, (os.cpu_count() or 1) - 1))
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._model, dtype_reason = load_model(path, dtype, device, tokenizer=tokenizer)
        self._kernels, reason = kernels.choose(attention, self._model.layers, self._model.like)
        self._tokenizer, self._enforce_eager = tokenizer, enforce_eager
        self._max_num_seqs, self._max_queue = max_num_seqs, max_queue
        self._lookup = lookup
        self._seeds = random.Random(seed)  # noqa: S311  # for sampling
        self._grammars: Grammars | None = None
        self._loop: Loop | None = None
        self._changing = asyncio.Lock()  # a model runs in one thread at a time
        self._batch_tokens = _batch_tokens(max_num_batched_tokens, max_num_seqs, device)
        block = self._kernels.block_size
        block_bytes = block * token_bytes(self._model.layers, self._model.dtype)
        room = (kv_cache_memory_bytes or memory_for_cache(device)) // block_bytes * block
        if not room:
            raise ModelError(f"a block of the key-value cache takes {block_bytes} bytes, and it is to have fewer")
        limits = {**self._model.limits, "the memory for its key-value cache": room}
        length, length_reason = _length(max_model_len, limits)
        wanted = room if kv_cache_memory_bytes else max_num_seqs * (length + block)
        self._blocks = min(room, wanted) // block  # at least one sequence of full length
        self._facts: dict[str, Any] = {
            "attention": self._kernels.name,
            "attention_reason": reason,
            "dtype": next(iter(self._model.weights)),
            "dtype_reason": dtype_reason,
            "weights": " and ".join(f"{count / 1e6:.1f} M {kind}" for kind, count in self._model.weights.items()),
            "device": str(device),
            "threads": torch.get_num_threads(),
            "max_model_len": length,
            "max_model_len_reason": length_reason,
            "max_num_seqs": max_num_seqs,
            "cache_tokens": self._blocks * block,
        }
        named = self._model.stop_ids | {tokenizer.eos_token_id} - {None}
        self.info = ModelInfo(
            name=name,
            max_model_len=length,
            vocab_size=self._model.vocab_size,
            stop_token_ids=frozenset(token for token in named if 0 <= token < self._model.vocab_size),
            facts=self._facts,
        )

    async def start(self) -> None:
        """Start the engine's thread, and, in the background, what compiles grammars."""
        async with self._changing:
            if self._loop is None:
                await self._start()

    async def stop(self) -> None:
        """Abort what runs, end the threads and free the cache; the model stays, so the engine may be started again."""
        async with self._changing:
            loop, self._loop = self._loop, None
            grammars, self._grammars = self._grammars, None
            try:
                if grammars is not None:
                    await grammars.stop()
            finally:  # also when whoever stops it is cancelled: nobody could end the thread later
                if loop is not None:
                    await asyncio.to_thread(loop.stop)

    async def compile(self, tag: StructuralTag) -> Constraint:
        """Compile a tag, within limits.

        Raises:
            GrammarError: XGrammar is missing, or refuses the tag, or a limit does.
            QueueFullError: many others are being compiled.
            EngineError: the engine is not started, or what compiles fails.
        """
        if self._grammars is None:
            raise EngineError("the engine is not running")
        return await self._grammars.compile(tag)

    def submit(self, prompt: Seq[int], sampling: SamplingParams, constraint: Constraint | None = None) -> TokenStream:
        """Queue a request and return its tokens as they come.

        Raises:
            QueueFullError: the queue is full.
            EngineError: the request is impossible, or the engine is not started; later from the stream: it failed.
        """
        if self._loop is None or not self._loop.alive:
            raise EngineError("the engine is not running")
        if self.running >= self._max_num_seqs + self._max_queue:
            raise QueueFullError(retry_after=1 + self.running // self._max_num_seqs)
        self._check(prompt, sampling)
        seed = self._seeds.getrandbits(_SEED_BITS) if sampling.seed is None else sampling.seed % (1 << _SEED_BITS)
        sequence = Sequence(list(prompt), sampling, constraint, seed, asyncio.Queue())
        self._loop.submit(sequence)
        if not self._loop.alive:  # its last look may have been before
            raise EngineError("the engine is not running")
        return TokenStream(sequence)

    @property
    def running(self) -> int:
        """How many requests hold a slot or wait for one."""
        return 0 if self._loop is None else len(self._loop.live)

    @property
    def alive(self) -> bool:
        """Whether its thread runs."""
        return self._loop is not None and self._loop.alive

    @property
    def stats(self) -> EngineStats | None:
        """What it does at the moment; None while it is stopped."""
        return None if self._loop is None else self._loop.stats

    @property
    def ready(self) -> bool:
        """Whether it is alive, and its last forward passes did not all fail."""
        return self._loop is not None and self._loop.alive and self._loop.failures < _FAILURES

    async def _start(self) -> None:
        caller = asyncio.get_running_loop()
        model, size = self._model, self._kernels.block_size
        # One block more than requests are given: what graphs pad their batches with goes there.
        cache = KVCache(model.layers, blocks=self._blocks + 1, block_size=size, like=model.like)
        self._loop = Loop(
            model,
            self._kernels,
            cache,
            Scheduler(
                BlockPool(self._blocks, size),
                max_num_seqs=self._max_num_seqs,
                budget=self._batch_tokens,
            ),
            chooser=Chooser(model, self.info.stop_token_ids, self._lookup),
            runner=await asyncio.to_thread(self._runner, cache),
            deliver=lambda outcomes: caller.call_soon_threadsafe(_hand_out, outcomes),
        )
        self._loop.start()
        self._grammars = Grammars(self._tokenizer, self.info)
        _logger.info("%s: %s", self.info.name, ", ".join(f"{fact} {value}" for fact, value in self.info.facts.items()))

    def _runner(self, cache: KVCache) -> Model | Graphs:
        """What makes forward passes: CUDA graphs where they can be captured, else the model itself."""
        capture = graphs.capture_on(self._model.device)
        if capture is None:
            return self._model
        if self._enforce_eager or not self._kernels.capturable:
            self._facts["cuda_graphs"] = "none, as asked" if self._enforce_eager else f"none with {self._kernels.name}"
            return self._model
        runner = Graphs(
            self._model, self._kernels, cache, capture=capture,
            max_num_seqs=self._max_num_seqs, max_model_len=self.info.max_model_len, spare_block=self._blocks,
        )  # fmt: skip
        self._facts["cuda_graphs"] = runner.found
        return runner

    def _check(self, prompt: Seq[int], sampling: SamplingParams) -> None:
        if not prompt or sampling.max_tokens < 1:
            raise EngineError("a request needs a prompt and room for at least one token")
        if min(prompt) < 0 or max(prompt) >= self.info.vocab_size:
            raise EngineError(f"a token of the prompt is not in the vocabulary of {self.info.vocab_size}")
        if len(prompt) + sampling.max_tokens > self.info.max_model_len:
            raise EngineError(
                f"{len(prompt)} tokens of prompt and {sampling.max_tokens} of output are more than the "
                f"{self.info.max_model_len} that the model can take"
            )


def _hand_out(outcomes: list[tuple[Sequence, Outcome]]) -> None:
    for sequence, outcome in outcomes:
        sequence.outbox.put_nowait(outcome)


def _batch_tokens(asked: int | None, max_num_seqs: int, device: torch.device) -> int:
    """How many tokens a forward pass takes in at most. Raises ModelError: too few were asked for."""
    if asked is not None and asked < 2 * max_num_seqs:
        raise ModelError(
            f"max_num_batched_tokens {asked} is not possible: it must be at least {2 * max_num_seqs}, "
            f"two for each of max_num_seqs"
        )
    return asked or _BATCH_TOKENS[device.type]


def _length(asked: int | None, limits: dict[str, int | None]) -> tuple[int, str]:
    """The longest sequence to serve (what was asked for, or the smallest limit), and why.

    Raises:
        ModelError: more was asked for than the model can be served with.
    """
    bound, reason = min((limit, reason) for reason, limit in limits.items() if limit is not None)
    if asked is None:
        return bound, reason
    if not 1 < asked <= bound:
        raise ModelError(f"max_model_len {asked} is not possible: it must be from 2 to {bound}, because of {reason}")
    return asked, "as asked"
