"""Server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Self

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolglot.server.errors import ApiError, api_error


class EventStream(Response):
    """Sends events as they come. A reader that is slow slows the sending down, and buffers nothing here."""

    media_type = "text/event-stream"

    def __init__(self, first: bytes, rest: AsyncGenerator[bytes, None], broken: Callable[[ApiError], bytes]) -> None:
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._first = first
        self._rest = rest
        self._broken = broken

    @classmethod
    async def open(cls, events: AsyncGenerator[bytes, None], broken: Callable[[ApiError], bytes]) -> Self:
        """Wait for the first event, so that a failure before it is still an error response.

        ``broken`` makes the last event out of a later failure.
        """
        return cls(await anext(events), events, broken)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  (ASGI's signature)
        async with aclosing(self._rest):
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await _send_body(send, self._first)
            try:
                async for event in self._rest:
                    await _send_body(send, event)
            except Exception as error:  # noqa: BLE001  the response has begun: the client learns of it in the stream
                await _send_body(send, self._broken(api_error(error)))
        await send({"type": "http.response.body", "body": b""})


async def _send_body(send: Send, body: bytes) -> None:
    if body:
        await send({"type": "http.response.body", "body": body, "more_body": True})
