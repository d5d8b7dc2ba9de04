"""Which requests are taken on, and how long a client may take to send one."""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolglot.server.auth import OPEN_PATHS
from toolglot.server.error_form import error_answer
from toolglot.server.errors import ApiError
from toolglot.server.life import Life

_ALWAYS = OPEN_PATHS | {"/metrics"}


class Admission:
    """ASGI middleware: refuses requests while the server stops or has its hands full, and bodies that do not come."""

    def __init__(self, app: ASGIApp, life: Life, max_requests: int, body_seconds: float) -> None:
        self._app = app
        self._life = life
        self._max_requests = max_requests
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _ALWAYS:
            await self._app(scope, receive, send)
        elif refusal := self._refusal():
            await error_answer(refusal, scope)(scope, receive, send)
        else:
            await self._admit(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._life.active += 1
        try:
            await self._app(scope, _Body(receive, self._body_seconds), send)
        finally:
            self._life.active -= 1

    def _refusal(self) -> ApiError | None:
        if self._life.draining:
            headers = {"Retry-After": "5", "Connection": "close"}
            return ApiError(503, "the server is stopping; try another one", code="shutting_down", headers=headers)
        if self._life.active >= self._max_requests:
            message = f"the server answers {self._max_requests} requests already; try again later"
            return ApiError(429, message, code="too_many_requests", headers={"Retry-After": "1"})
        return None


class _Body:
    """``receive``, with an end to how long the body may take."""

    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive = receive
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._complete = False

    async def __call__(self) -> Message:
        if self._complete:
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.0, self._deadline - time.monotonic())):
                message = await self._receive()
        except TimeoutError as error:
            text = f"the body did not come within {self._seconds:g} seconds"
            raise ApiError(408, text, code="body_timeout", headers={"Connection": "close"}) from error
        self._complete = not message.get("more_body", False)
        return message
