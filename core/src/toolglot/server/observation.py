"""Every request's id, its line in the log, and its place in the metrics."""

from __future__ import annotations

import logging
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolglot.server import record
from toolglot.server.error_form import is_anthropic
from toolglot.server.record import RequestRecord
from toolglot.server.traffic import Traffic

_logger = logging.getLogger("toolglot.requests")

_PROBES = frozenset({"/health", "/ready", "/metrics"})
"""Routes that machines ask for all the time."""
_NO_ROUTE = "none"
_LEFT = 499
"""The status of a request whose client left before it was answered."""


class Observation:
    """ASGI middleware around all others."""

    def __init__(self, app: ASGIApp, traffic: Traffic, *, log_prompts: bool) -> None:
        self._app = app
        self._traffic = traffic
        self._log_prompts = log_prompts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._traffic, keep_body=self._log_prompts)
        try:
            await self._app(scope, exchange.receive, exchange.send)
        finally:
            exchange.end()


class _Exchange:
    """One request and its response."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, traffic: Traffic, *, keep_body: bool) -> None:
        self._begun = time.monotonic()
        self._ended = False
        self._traffic = traffic
        self._route = _route(scope)
        self._method = scope["method"] if self._route != _NO_ROUTE else "other"
        self._status = _LEFT
        self._receive = receive
        self._send = send
        self._body = bytearray() if keep_body else None
        self._record: RequestRecord = record.begin(Headers(scope=scope).get("x-request-id", "").encode("latin-1"))
        self._id_headers = ("x-request-id", "request-id") if is_anthropic(scope) else ("x-request-id",)

    async def receive(self) -> Message:
        message = await self._receive()
        if self._body is not None:
            self._body += message.get("body", b"")
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            for name in self._id_headers:
                headers[name] = self._record.id
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self.end()  # before the client has it all: what it asks for next, such as the metrics, knows of this
        await self._send(message)

    def end(self) -> None:
        """Count the request, and write its line, if that has not been done."""
        if not self._ended:
            self._ended = True
            seconds = time.monotonic() - self._begun
            self._traffic.request(self._method, self._route, self._status, seconds)
            self._log(seconds)

    def _log(self, seconds: float) -> None:
        one = self._record
        fields: dict[str, Any] = {
            "method": self._method,
            "route": self._route,
            "status": self._status,
            "seconds": round(seconds, 6),
            "prompt_tokens": one.prompt_tokens,
            "completion_tokens": one.completion_tokens,
        }
        if one.first_token_seconds is not None:
            fields["first_token_seconds"] = round(one.first_token_seconds, 6)
        if self._body is not None:
            fields["body"] = self._body.decode("utf-8", "replace")
        _logger.log(logging.DEBUG if self._route in _PROBES else logging.INFO, "request", extra={"fields": fields})


def _route(scope: Scope) -> str:
    """The path of the route that matches, with its parameters' names for their values."""
    for route in scope["app"].routes:
        if isinstance(route, Route) and route.matches(scope)[0] is not Match.NONE:
            return route.path
    return _NO_ROUTE
