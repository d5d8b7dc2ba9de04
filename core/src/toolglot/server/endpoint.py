"""A route that takes a body and answers it, and that stops working when the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from toolglot.server.config import ServerConfig
from toolglot.server.errors import ApiError

Answer: TypeAlias = Callable[[bytes], Awaitable[Response]]


class Disconnected(Exception):  # noqa: N818  it is no error: the client has left
    """The client left before its body was complete."""


def post(path: str, answer: Answer, config: ServerConfig) -> Route:
    """A route for bodies that are sent to ``path``."""
    return Route(path, Endpoint(answer, max_body_bytes=config.max_body_bytes), methods=["POST"])


class Endpoint:
    """An ASGI application around ``answer``, which turns a request body into a response or raises."""

    def __init__(self, answer: Answer, *, max_body_bytes: int) -> None:
        self._answer = answer
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await self._body(Headers(scope=scope), receive)
        except Disconnected:
            return
        await _while_connected(receive, self._respond(body, scope, receive, send))

    async def _respond(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(body)
        await response(scope, receive, send)

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        announced = headers.get("content-length", "")
        self._check_size(int(announced) if announced.isdecimal() else 0)
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            body += message.get("body", b"")
            self._check_size(len(body))
            more = message.get("more_body", False)
        return bytes(body)

    def _check_size(self, size: int) -> None:
        if size > self._max_body_bytes:
            message = f"the body is larger than {self._max_body_bytes} bytes"
            raise ApiError(413, message, code="body_too_large", headers={"Connection": "close"})


async def _while_connected(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do ``work``, and cancel it when the client leaves."""
    tasks = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    if not tasks[0].cancelled():
        tasks[0].result()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
