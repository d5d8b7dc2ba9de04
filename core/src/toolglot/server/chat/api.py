"""``POST /v1/chat/completions``: the life of a request."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.responses import Response

from toolglot.server.chat import reading
from toolglot.server.chat.chunks import DONE, ChunkWriter
from toolglot.server.chat.completion import completion
from toolglot.server.chat.protocol import ChatRequest
from toolglot.server.chat.reply import Reply
from toolglot.server.decoding import decoded
from toolglot.server.encoding import encode_json
from toolglot.server.errors import ApiError, error_bytes
from toolglot.server.generation import Generation
from toolglot.server.service import Service
from toolglot.server.sse import EventStream


class ChatCompletions:
    """Answers chat requests."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(self, body: bytes) -> Response:
        """The response to one request body.

        Raises:
            ToolglotError: the request cannot be served, or generation failed before the first byte.
        """
        chat = await decoded(body, reading.read)
        generation = await self._service.generation(reading.ask(chat))
        reply = self._reply(chat)
        if chat.stream:
            return await EventStream.open(_stream(reply, generation), _broken)
        message = await generation.read()
        return Response(encode_json(completion(reply, message, generation)), media_type="application/json")

    def _reply(self, chat: ChatRequest) -> Reply:
        return Reply(
            id=f"chatcmpl-{uuid.uuid4().hex}",
            created=int(time.time()),
            model=chat.model,
            include_reasoning=chat.include_reasoning is not False,
            include_usage=bool(chat.stream_options and chat.stream_options.include_usage),
            extensions=self._service.config.extensions,
        )


async def _stream(reply: Reply, generation: Generation) -> AsyncGenerator[bytes, None]:
    writer = ChunkWriter(reply)
    head = writer.opening()
    async with aclosing(generation.events()) as steps:
        async for events in steps:
            yield head + writer.deltas(events)
            head = b""
    yield head + writer.closing(generation)


def _broken(error: ApiError) -> bytes:
    return b"data: " + error_bytes(error) + b"\n\n" + DONE
