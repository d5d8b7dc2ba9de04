"""An engine whose work is counted and timed."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from toolglot.engine.protocol import Constraint, Engine, EngineStats, ModelInfo, SamplingParams, TokenDelta
from toolglot.server import record
from toolglot.server.traffic import Traffic
from toolglot.structural_tag import StructuralTag


class ObservedEngine:
    """``engine``, with what it does in ``traffic`` and in the record of the request that it works for."""

    def __init__(self, engine: Engine, traffic: Traffic) -> None:
        self._engine = engine
        self._traffic = traffic

    @property
    def info(self) -> ModelInfo:
        return self._engine.info

    @property
    def running(self) -> int:
        return self._engine.running

    @property
    def alive(self) -> bool:
        return self._engine.alive

    @property
    def stats(self) -> EngineStats | None:
        return self._engine.stats

    @property
    def ready(self) -> bool:
        return self._engine.ready

    async def start(self) -> None:
        await self._engine.start()

    async def stop(self) -> None:
        await self._engine.stop()

    async def compile(self, tag: StructuralTag) -> Constraint:
        with self._traffic.compile.time():
            return await self._engine.compile(tag)

    def submit(
        self, prompt: Sequence[int], sampling: SamplingParams, constraint: Constraint | None = None
    ) -> AsyncGenerator[TokenDelta, None]:
        tokens = self._engine.submit(prompt, sampling, constraint)
        return self._observed(tokens, _Pace(self._traffic, len(prompt)))

    async def _observed(
        self, tokens: AsyncGenerator[TokenDelta, None], pace: _Pace
    ) -> AsyncGenerator[TokenDelta, None]:
        pace.begin()
        try:
            async with aclosing(tokens):
                async for delta in tokens:
                    pace.step(len(delta.token_ids), delta.cached_tokens)
                    if delta.speculation is not None:
                        self._traffic.speculation(delta.speculation)
                    yield delta
        finally:
            pace.end()


class _Pace:
    """Times one reply."""

    def __init__(self, traffic: Traffic, prompt_tokens: int) -> None:
        self._traffic = traffic
        self._prompt_tokens = prompt_tokens
        self._record = record.current() or record.RequestRecord("")
        self._last = time.monotonic()
        self._begun = False

    def begin(self) -> None:
        self._traffic.waiting.inc()
        self._traffic.prompt_tokens.inc(self._prompt_tokens)
        self._record.prompt_tokens += self._prompt_tokens

    def step(self, tokens: int, cached_tokens: int) -> None:
        seconds, self._last = time.monotonic() - self._last, time.monotonic()
        self._traffic.completion_tokens.inc(tokens)
        self._traffic.cached_tokens.inc(cached_tokens)
        self._record.completion_tokens += tokens
        if self._begun:
            self._traffic.between_tokens.observe(seconds)
        else:
            self._first(seconds)

    def end(self) -> None:
        (self._traffic.running if self._begun else self._traffic.waiting).dec()

    def _first(self, seconds: float) -> None:
        self._begun = True
        self._traffic.waiting.dec()
        self._traffic.running.inc()
        self._traffic.first_token.observe(seconds)
        if self._record.first_token_seconds is None:
            self._record.first_token_seconds = seconds
