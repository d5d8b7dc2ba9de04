"""``POST /v1/chat/completions``: the life of a request."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from starlette.responses import Response

from toolglot.server.ask import Ask
from toolglot.server.chat import reading
from toolglot.server.chat.chunks import ChunkWriter, broken, ending
from toolglot.server.chat.completion import completion
from toolglot.server.chat.protocol import ChatRequest
from toolglot.server.chat.reply import Reply
from toolglot.server.decoding import decoded
from toolglot.server.encoding import json_response
from toolglot.server.generation import Generation
from toolglot.server.merging import gathered, merged
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
        chat, ask = await decoded(body, _read)
        reply = self._reply(chat, await self._service.generations(ask))
        if chat.stream:
            return await EventStream.open(_stream(reply), broken)
        await gathered([generation.read() for generation in reply.generations])
        return json_response(completion(reply))

    def _reply(self, chat: ChatRequest, generations: Sequence[Generation]) -> Reply:
        include_usage, continuous_usage = chat.streamed_usage
        return Reply(
            id=f"chatcmpl-{uuid.uuid4().hex}",
            created=int(time.time()),
            model=chat.model,
            generations=generations,
            token_texts=self._service.generator.token_texts,
            include_reasoning=chat.include_reasoning is not False,
            include_usage=include_usage,
            continuous_usage=continuous_usage,
            include_token_ids=bool(chat.return_token_ids),
            include_logprobs=bool(chat.logprobs),
            extensions=self._service.config.extensions,
        )


def _read(body: bytes) -> tuple[ChatRequest, Ask]:
    chat = reading.read(body)
    return chat, reading.ask(chat)


async def _stream(reply: Reply) -> AsyncGenerator[bytes, None]:
    writers = [ChunkWriter(reply, index) for index in range(len(reply.generations))]
    head = b"".join(writer.opening() for writer in writers)
    async with aclosing(merged([generation.events() for generation in reply.generations])) as steps:
        async for index, events in steps:
            writer = writers[index]
            yield head + (writer.closing() if events is None else writer.deltas(events))
            head = b""
    yield ending(reply)
