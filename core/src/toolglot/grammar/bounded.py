"""Compiling what clients send: within limits, off the event loop, and once."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import Struct

from toolglot.errors import EngineError, GrammarError, QueueFullError
from toolglot.grammar.cache import Cache
from toolglot.grammar.compiler import CompiledTag, Compiler, GuardedTag, refusal
from toolglot.grammar.trials import Trial, Trials
from toolglot.grammar.worker import Job, step_back
from toolglot.structural_tag import StructuralTag

_logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_THREADS = 4
_UPGRADES = 2
"""How many tags at once get all their masks after they could be used already."""
_XGRAMMAR_CACHE = 32 << 20
"""Bytes that XGrammar keeps itself: masks of rules that several tags share."""


class CompileLimits(Struct, frozen=True):
    """What compiling may take."""

    seconds: float = 1.0
    """Wall-clock seconds until a tag can be used; it takes up to as long again in this process."""
    more_seconds: float = 8.0
    """Wall-clock seconds, in the background, until all masks of a tag are made that can be used already."""
    memory: int = 768 << 20
    """Bytes that compiling a tag may take."""
    size: int = 8 << 20
    """Bytes of a tag's JSON."""
    cache: int = 256 << 20
    """Bytes of all compiled tags that are kept."""
    refused_seconds: float = 30.0
    """How long a refusal is kept."""


DEFAULT = CompileLimits()


class BoundedCompiler:
    """Compiles tags on trial first, in a process that is ended when a limit is passed; what passes is compiled again in
    a thread. Good for one event loop.

    A tag that takes long to compile with all its masks can be used before that, with masks that are made when they are
    wanted; later requests get it with all masks.

    Args:
        make: Makes the compiler, in a thread; it is given the bytes that XGrammar may keep. What it raises,
            :meth:`compile` raises.
        limits: What compiling may take.
    """

    def __init__(self, make: Callable[[int], Compiler], limits: CompileLimits = DEFAULT) -> None:
        self._make = make
        self._limits = limits
        self._cache = Cache(limits.cache, limits.refused_seconds)
        self._pool = ThreadPoolExecutor(_THREADS, "toolglot-grammar")
        self._slow = ThreadPoolExecutor(1, "toolglot-masks", lambda: step_back(threading.current_thread()))
        self._tasks: set[asyncio.Task[Any]] = set()
        self._running: dict[bytes, asyncio.Task[CompiledTag]] = {}
        self._upgrading: set[bytes] = set()
        self._prepared: asyncio.Task[tuple[Compiler, Trials]] | None = None
        self._trials: Trials | None = None

    def start(self) -> None:
        """Make the compiler and start the process, in the background."""
        if self._prepared is None:
            self._prepared = self._task(self._prepare())

    async def stop(self) -> None:
        """End the process, and all that is being compiled; it cannot be started again."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._trials is not None:
            self._trials.stop()
        for pool in (self._pool, self._slow):
            pool.shutdown(wait=False, cancel_futures=True)

    async def compile(self, tag: StructuralTag) -> CompiledTag:
        """Compile a tag, or take it from the cache. A tag that several want at once is compiled once.

        Raises:
            GrammarError: XGrammar refuses the tag, or it is over a limit.
            QueueFullError: many others are being compiled.
            EngineError: the process fails.
        """
        self.start()
        assert self._prepared is not None
        compiler, trials = await asyncio.shield(self._prepared)
        guarded = await asyncio.to_thread(compiler.guard, tag)
        key = hashlib.sha256(guarded.text.encode()).digest()
        found = self._cache.get(key)
        if found is not None:
            return found
        if key not in self._running:
            self._running[key] = self._task(self._compile(key, guarded, compiler, trials))
            self._running[key].add_done_callback(lambda _: self._running.pop(key))
        return await asyncio.shield(self._running[key])

    async def _prepare(self) -> tuple[Compiler, Trials]:
        compiler = await self._in_thread(self._make, _XGRAMMAR_CACHE)
        self._trials = Trials(await self._in_thread(compiler.info.serialize_json))
        with suppress(EngineError):  # the first tag starts it again, and raises what is wrong
            await self._trials.start()
        return compiler, self._trials

    async def _compile(self, key: bytes, tag: GuardedTag, compiler: Compiler, trials: Trials) -> CompiledTag:
        try:
            compiled = await self._tried(key, tag, compiler, trials)
        except GrammarError as error:
            self._cache.refuse(key, error)
            raise
        self._cache.put(key, compiled)
        return compiled

    async def _tried(self, key: bytes, tag: GuardedTag, compiler: Compiler, trials: Trials) -> CompiledTag:
        limits = self._limits
        if len(tag.text) > limits.size:
            raise refusal(f"it is {len(tag.text)} characters long; up to {limits.size} are allowed")
        job = Job(tag.text, tag.named, limits.seconds, limits.more_seconds, limits.memory)
        trial, answer = await trials.begin(job)
        if answer is not None and answer.kind == "lazy":
            lazy = self._task(self._in_thread(compiler.compile_lazily, tag))
            self._task(self._upgrade(key, tag, compiler, trial, lazy))
            return await lazy
        trial.leave()
        if answer is None:
            raise refusal(f"it takes more than {limits.seconds:g} s or {limits.memory >> 20} MiB")
        if answer.kind == "busy":
            raise QueueFullError(retry_after=1)
        if answer.kind == "refused":
            raise refusal(answer.reason)
        return await self._in_thread(compiler.compile_eagerly, tag)

    async def _upgrade(
        self, key: bytes, tag: GuardedTag, compiler: Compiler, trial: Trial, lazy: asyncio.Task[CompiledTag]
    ) -> None:
        """Exchange a tag for itself with all its masks, if they can be had within the limits."""
        try:
            await lazy
            complete = len(self._upgrading) < _UPGRADES and await self._complete(key, trial)
        finally:
            trial.leave()
        if complete:
            loop = asyncio.get_running_loop()
            self._cache.put(key, await loop.run_in_executor(self._slow, compiler.compile_eagerly, tag))

    async def _complete(self, key: bytes, trial: Trial) -> bool:
        self._upgrading.add(key)
        try:
            return await trial.complete()
        except EngineError as error:
            _logger.warning("a grammar keeps masks that are made when they are wanted: %s", error)
            return False
        finally:
            self._upgrading.discard(key)

    async def _in_thread(self, work: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    def _task(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits for the task gets it; perhaps nobody does any more
