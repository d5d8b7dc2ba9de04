"""Server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, Self

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolglot.server.errors import ApiError, api_error

SILENCE_SECONDS = 15.0
"""How long a stream may be silent: what stands between server and client may cut a connection that is, often after 30
or 60 seconds.
"""
COMMENT = b": keep-alive\n\n"
"""A line that clients skip."""


class EventStream(Response):
    """Sends events as they come, and ``idle`` in long silences. A reader that is slow slows the sending down, and
    buffers nothing here.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        first: asyncio.Future[bytes],
        rest: AsyncGenerator[bytes, None],
        broken: Callable[[ApiError], bytes],
        idle: bytes,
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._first = first
        self._rest = rest
        self._broken = broken
        self._idle = idle

    @classmethod
    async def open(
        cls, events: AsyncGenerator[bytes, None], broken: Callable[[ApiError], bytes], idle: bytes = COMMENT
    ) -> Self:
        """Wait for the first event, so that a failure before it is still an error response; but not in silence.

        ``broken`` makes the last event out of a later failure.
        """
        first = asyncio.ensure_future(anext(events))
        try:
            await asyncio.wait([first], timeout=SILENCE_SECONDS)
        except asyncio.CancelledError:
            await _cancel(first)
            raise
        if first.done():
            first.result()
        return cls(first, events, broken, idle)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  (ASGI's signature)
        async with aclosing(self._rest):
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with _kept_alive(_Body(send), self._idle) as body:
                if not self._first.done():
                    await body.send(self._idle)
                try:
                    await body.send(await self._first)
                    async for event in self._rest:
                        await body.send(event)
                except Exception as error:  # noqa: BLE001  the response has begun: the client learns of it in the stream
                    await body.send(self._broken(api_error(error)))
        await send({"type": "http.response.body", "body": b""})


class _Body:
    """A response's body, which knows when something was sent last."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._clock = asyncio.get_running_loop().time
        self._last = self._clock()

    @property
    def silent(self) -> float:
        """For how many seconds nothing was sent."""
        return self._clock() - self._last

    async def send(self, piece: bytes) -> None:
        if piece:
            self._last = self._clock()
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})


@asynccontextmanager
async def _kept_alive(body: _Body, idle: bytes) -> AsyncIterator[_Body]:
    """The body, to which ``idle`` goes in silences too. It may be sent by two at once: each piece goes as a whole."""
    beat = asyncio.ensure_future(_beat(body, idle))
    try:
        yield body
    finally:
        await _cancel(beat)


async def _beat(body: _Body, idle: bytes) -> None:
    while True:
        if (left := SILENCE_SECONDS - body.silent) > 0:
            await asyncio.sleep(left)
        else:
            await body.send(idle)


async def _cancel(task: asyncio.Future[Any]) -> None:
    """Cancel a task, and wait until it has ended; how it ends does not matter any more."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
