"""``POST /v1/messages`` and ``/v1/messages/count_tokens``: the life of a request."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from starlette.responses import Response

from toolglot.server import record
from toolglot.server.ask import Ask
from toolglot.server.decoding import decoded
from toolglot.server.encoding import json_response
from toolglot.server.generation import Generation
from toolglot.server.messages import reading
from toolglot.server.messages.events import PING, EventWriter, error_event
from toolglot.server.messages.protocol import MessagesRequest, TokensCount
from toolglot.server.messages.reply import Reply
from toolglot.server.messages.writing import whole_message
from toolglot.server.service import Service
from toolglot.server.sse import EventStream


class Messages:
    """Answers requests of Anthropic's Messages API."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def create(self, body: bytes) -> Response:
        """The response to one request for a message.

        Raises:
            ToolglotError: the request cannot be served, or generation failed before the first byte.
        """
        request, ask = await decoded(body, _read)
        generation = await self._service.generation(ask)
        reply = self._reply(request, fills_window=generation.max_tokens < request.max_tokens)
        if request.stream:
            current = record.current()
            broken = partial(error_event, request_id=None if current is None else current.id)
            return await EventStream.open(_stream(reply, generation), broken, PING)
        return json_response(await whole_message(reply, generation))

    async def count_tokens(self, body: bytes) -> Response:
        """The response to one request to count the tokens of a prompt.

        Raises:
            ToolglotError: the request cannot be served.
        """
        ask = await decoded(body, _read_count)
        self._service.models.check(ask.model)
        prepared = await self._service.prepared(ask)
        return json_response(TokensCount(len(prepared.prompt)))

    def _reply(self, request: MessagesRequest, *, fills_window: bool) -> Reply:
        return Reply(
            id=f"msg_{uuid.uuid4().hex}",
            model=request.model,
            show_thinking=request.thinking is None or request.thinking.display != "omitted",
            extensions=self._service.config.extensions,
            fills_window=fills_window,
        )


def _read(body: bytes) -> tuple[MessagesRequest, Ask]:
    request = reading.read(body)
    return request, reading.ask(request)


def _read_count(body: bytes) -> Ask:
    return reading.prompt_ask(reading.read_count(body))


async def _stream(reply: Reply, generation: Generation) -> AsyncGenerator[bytes, None]:
    writer = EventWriter(reply, generation)
    head = writer.opening()
    async with aclosing(generation.events()) as steps:
        async for events in steps:
            yield head + writer.blocks(events)
            head = b""
    yield head + writer.closing()
