"""An engine elsewhere, behind the engine protocol: token ids go to one of its replicas, and token ids come back."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from toolglot.backends.cutting import Cut
from toolglot.backends.dialect import FIELDS, Chunk, Dialect, Reader, RemoteConstraint, RemoteRequest
from toolglot.backends.faults import BusyError, ReplicaError
from toolglot.backends.free_text import without_markers
from toolglot.backends.link import Link, Timeouts
from toolglot.backends.replicas import Policy, Replica, Replicas, Use
from toolglot.backends.text_tokens import TextTokens
from toolglot.engine.grammars import LateGrammars
from toolglot.engine.protocol import Constraint, ModelInfo, SamplingParams, TokenDelta
from toolglot.errors import EngineError, EngineUnavailableError, QueueFullError, RequestError, UnenforceableError
from toolglot.structural_tag import StructuralTag
from toolglot.vocabulary import added_tokens

_logger = logging.getLogger(__name__)

_CHECKS = 5.0
"""Seconds from one check of the replicas' health to the next."""
_TRAILING = 0.5
"""How long an engine may take to count its tokens and to end its answer when the reply is over, in seconds."""
_DEFAULTS = msgspec.structs.asdict(SamplingParams(max_tokens=1))


class Target(Struct, frozen=True, kw_only=True):
    """The engine that requests go to."""

    dialect: Dialect
    urls: tuple[str, ...]
    model: str
    """The model's name there."""
    takes: frozenset[str]
    """The fields of sampling that it obeys, as it was started."""
    api_key: str | None = None
    timeouts: Timeouts = Timeouts()
    max_running: int = 256
    """How many requests may run or wait there at once."""


class RemoteEngine:
    """Hands requests to ``target``.

    A request that fails before its first token is tried at another replica. Tags are compiled here first, within
    limits, so that none reaches the engine that is too much for it; then they are sent as the engine takes them.
    """

    def __init__(
        self,
        target: Target,
        info: ModelInfo,
        tokenizer: Any,
        policy: Policy = Policy(),  # noqa: B008  it is frozen
    ) -> None:
        self.info = info
        self.running = 0
        self._target = target
        self._tokenizer = tokenizer
        self._tokens = TextTokens(tokenizer)
        self._names = {token: name for name, token in added_tokens(tokenizer).items()}
        self._replicas = Replicas(target.urls, policy)
        self._links: dict[str, Link] = {}
        self._session: aiohttp.ClientSession | None = None
        self._grammars = LateGrammars(tokenizer, info)
        self._checks: asyncio.Task[None] | None = None
        self._aborts: set[asyncio.Task[None]] = set()

    @property
    def alive(self) -> bool:
        """Whether it is started."""
        return self._session is not None

    @property
    def ready(self) -> bool:
        """Whether a replica would get a request."""
        return self.alive and self._replicas.able(time.monotonic())

    async def start(self) -> None:
        """Open connections, and begin to check the replicas' health."""
        if self._session is not None:
            return
        self._session = open_session(self._target.api_key, self._target.timeouts)
        self._links = {url: Link(self._session, url, self._target.timeouts) for url in self._target.urls}
        self._checks = asyncio.create_task(self._check_forever())
        _logger.info("%s: %s", self.info.name, ", ".join(f"{fact} {value}" for fact, value in self.info.facts.items()))

    async def stop(self) -> None:
        """Hang up on all requests, and end what compiles grammars."""
        session, self._session = self._session, None
        for link in self._links.values():
            link.close()
        if self._checks is not None:
            self._checks.cancel()
            await asyncio.wait([self._checks])
        if self._aborts:
            await asyncio.wait(self._aborts, timeout=self._target.timeouts.check)
        await self._grammars.stop()
        if session is not None:
            await session.close()

    async def compile(self, tag: StructuralTag) -> Constraint:
        """Compile a tag, within limits, and write it as the engine takes it.

        Raises:
            GrammarError: XGrammar refuses the tag, or a limit does; UnenforceableError: the engine takes no such tag.
            QueueFullError: many others are being compiled.
            EngineError: the engine is not started, or what compiles fails.
        """
        dialect = self._target.dialect
        if dialect.capabilities.grammar == "none":
            raise UnenforceableError(f"the engine behind this server ({dialect.name}) holds replies to no grammar")
        if self._session is None:
            raise EngineError("the engine is not running")
        compiled: Any = await self._grammars.compile(without_markers(tag, self._names))
        source = compiled.source
        text = await asyncio.to_thread(dialect.lower, source.text, self._names)
        return RemoteConstraint(text, source.named, compiled.banned.ids - self.info.stop_token_ids)

    def submit(
        self, prompt: Sequence[int], sampling: SamplingParams, constraint: Constraint | None = None
    ) -> AsyncGenerator[TokenDelta, None]:
        """Send a request and return its tokens as they come; closing the iterator ends it at the engine.

        Raises:
            RequestError: the engine does not obey a field of the request; ``param`` is the field.
            QueueFullError: as many run as may; later, from the stream: all replicas say so.
            EngineError: the engine is not started; later, from the stream: what went wrong.
        """
        if self._session is None:
            raise EngineError("the engine is not running")
        if self.running >= self._target.max_running:
            raise QueueFullError(retry_after=1)
        self._check_fields(sampling)
        assert constraint is None or isinstance(constraint, RemoteConstraint)
        request = RemoteRequest(
            id=f"toolglot-{uuid.uuid4().hex}",
            model=self._target.model,
            prompt=tuple(prompt),
            sampling=sampling,
            constraint=constraint,
        )
        return self._reply(request)

    def _check_fields(self, sampling: SamplingParams) -> None:
        fields = msgspec.structs.asdict(sampling)
        for name in sorted(FIELDS - self._target.takes):
            if fields[name] != _DEFAULTS[name]:
                message = f"`{name}`: the engine behind this server ({self._target.dialect.name}) does not obey it"
                raise RequestError(message, param=name)

    async def _reply(self, request: RemoteRequest) -> AsyncGenerator[TokenDelta, None]:
        cut = Cut(request, self.info.stop_token_ids)
        self.running += 1
        try:
            async with aclosing(self._attempts(request)) as chunks:
                async for chunk in chunks:
                    delta = cut.feed(chunk)
                    if delta is not None:
                        yield delta
                    if cut.ended:
                        return
        finally:
            self.running -= 1

    async def _attempts(self, request: RemoteRequest) -> AsyncGenerator[Chunk, None]:
        """What replicas tell, one after the other until one tells something."""
        attempts = _Attempts(self._replicas)
        while True:
            use = attempts.next(request.prompt)
            begun = False
            try:
                async with aclosing(self._chunks(use, request)) as chunks:
                    async for chunk in chunks:
                        if chunk.token_ids and not begun:
                            begun = True
                            self._replicas.answered(use)
                        yield chunk
                return  # noqa: TRY300  what is in finally is run all the same
            except ReplicaError as error:
                _logger.warning("%s: %s", use.replica.url, error)
                attempts.failed(use, error)
                if self._session is None:
                    raise EngineError("the server stops") from error
                if begun:
                    raise
            finally:
                self._replicas.end(use)

    async def _chunks(self, use: Use, request: RemoteRequest) -> AsyncGenerator[Chunk, None]:
        """What one replica tells, up to the end of the reply; hung up on before, the request is aborted."""
        dialect, link = self._target.dialect, self._links[use.replica.url]
        read = dialect.reader(request, self._tokens)
        body = msgspec.json.encode(dialect.body(request))
        over = False
        try:
            async with aclosing(link.events(dialect.path, body)) as events:
                async for event in events:
                    chunk = read(event)
                    if chunk.finish is not None:
                        chunk = await _ending(chunk, read, events)
                        over = True
                        self._replicas.succeeded(use)
                    yield chunk
            if not over:
                raise ReplicaError("the engine ended its answer before the reply was over")
        finally:
            if not over:
                self._abort(link, request)

    def _abort(self, link: Link, request: RemoteRequest) -> None:
        """Tell an engine that is to be told by id."""
        told = self._target.dialect.abort(request)
        if told is None or self._session is None:
            return
        task = asyncio.get_running_loop().create_task(_post(link, *told))
        self._aborts.add(task)
        task.add_done_callback(self._aborts.discard)

    async def _check_forever(self) -> None:
        while True:
            await asyncio.gather(*map(self._check, self._replicas.all))
            await asyncio.sleep(_CHECKS)

    async def _check(self, replica: Replica) -> None:
        try:
            status, _ = await self._links[replica.url].get(self._target.dialect.health_path)
        except ReplicaError as error:
            status, reason = 0, str(error)
        else:
            reason = f"its health is {status}"
        healthy = 200 <= status < 300
        if healthy != replica.healthy:
            _logger.warning("%s is %s: %s", replica.url, "back" if healthy else "not well", reason)
        self._replicas.checked(replica, healthy=healthy, draining=status == 503, now=time.monotonic())


class _Attempts:
    """The replicas for one request."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas
        self._tried: list[Replica] = []
        self._stale: list[Replica] = []
        self._errors: list[ReplicaError] = []

    def next(self, prompt: Sequence[int]) -> Use:
        """The next one. Raises QueueFullError, EngineError: there is none."""
        replica = self._replicas.choose(prompt, time.monotonic(), self._tried)
        if replica is not None:
            return self._replicas.begin(replica)
        busy = [error.retry_after for error in self._errors if isinstance(error, BusyError)]
        if busy:
            raise QueueFullError(min(busy)) from self._errors[-1]
        last = self._errors[-1] if self._errors else None
        reason = "all replicas failed of late" if last is None else str(last)
        raise EngineUnavailableError(f"no engine can write this reply now: {reason}", 1) from last

    def failed(self, use: Use, error: ReplicaError) -> None:
        """An attempt failed. One that met an old connection may be made again at the same replica."""
        if error.stale and use.replica not in self._stale:
            self._stale.append(use.replica)
            return
        self._tried.append(use.replica)
        self._errors.append(error)
        if not isinstance(error, BusyError):
            self._replicas.failed(use, time.monotonic())


def open_session(api_key: str | None, timeouts: Timeouts) -> aiohttp.ClientSession:
    """Connections to engines."""
    headers = {"Content-Type": "application/json"}
    if api_key is not None:
        headers["Authorization"] = f"Bearer {api_key}"
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=timeouts.connect),
        headers=headers,
    )


async def _ending(last: Chunk, read: Reader, events: AsyncGenerator[bytes, None]) -> Chunk:
    """The last chunk of a reply, with what the engine counts behind it. Nothing that fails there harms the reply."""
    with suppress(TimeoutError, EngineError, RequestError):
        async with asyncio.timeout(_TRAILING):
            async for event in events:
                last = replace(last, cached_tokens=last.cached_tokens + read(event).cached_tokens)
    return last


async def _post(link: Link, path: str, body: Mapping[str, Any]) -> None:
    with suppress(EngineError, RequestError):  # the connection is closed in any case
        await link.post(path, msgspec.json.encode(body))
