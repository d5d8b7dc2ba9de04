"""``POST /v1/completions``: the life of a request."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from starlette.responses import Response

from toolglot.errors import RequestError
from toolglot.server.chat.chunks import broken
from toolglot.server.decoding import decoded
from toolglot.server.encoding import json_response
from toolglot.server.generation import Generation
from toolglot.server.merging import gathered, merged
from toolglot.server.service import Service
from toolglot.server.sse import EventStream
from toolglot.server.text import reading
from toolglot.server.text.protocol import CompletionRequest
from toolglot.server.text.tokens import check_tokens
from toolglot.server.text.writing import ChoiceWriter, Reply, completion, ending


class Completions:
    """Answers completion requests."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(self, body: bytes) -> Response:
        """The response to one request body.

        Raises:
            ToolglotError: the request cannot be served, or generation failed before the first byte.
        """
        request, prompts = await decoded(body, _read)
        reply = self._reply(request, await self._generations(request, prompts))
        if request.stream:
            return await EventStream.open(_stream(reply), broken)
        await gathered([generation.read() for generation in reply.generations])
        return json_response(completion(reply))

    async def _generations(self, request: CompletionRequest, prompts: Sequence[reading.Prompt]) -> list[Generation]:
        self._service.models.check(request.model)
        n, most = request.n or 1, self._service.config.max_choices
        if len(prompts) * n > most:
            message = f"{len(prompts)} prompts with {n} replies each are too many; this server makes {most} at most"
            raise RequestError(message, param="prompt" if len(prompts) > 1 else "n")
        return [generation for prompt in prompts for generation in await self._of(prompt, request)]

    async def _of(self, prompt: reading.Prompt, request: CompletionRequest) -> list[Generation]:
        return await self._service.completions(reading.ask(request), await self._tokens(prompt, request))

    async def _tokens(self, prompt: reading.Prompt, request: CompletionRequest) -> Sequence[int]:
        generator = self._service.generator
        if isinstance(prompt, str):
            return await generator.encode(prompt, add_special_tokens=request.add_special_tokens is not False)
        check_tokens(prompt, generator.info.vocab_size, "prompt")
        return prompt

    def _reply(self, request: CompletionRequest, generations: Sequence[Generation]) -> Reply:
        include_usage, continuous_usage = request.streamed_usage
        return Reply(
            id=f"cmpl-{uuid.uuid4().hex}",
            created=int(time.time()),
            model=request.model,
            generations=generations,
            choices_each=request.n or 1,
            token_texts=self._service.generator.token_texts,
            include_usage=include_usage,
            continuous_usage=continuous_usage,
            include_token_ids=bool(request.return_token_ids),
            include_logprobs=request.logprobs is not None,
        )


def _read(body: bytes) -> tuple[CompletionRequest, list[reading.Prompt]]:
    request = reading.read(body)
    return request, reading.prompts(request)


async def _stream(reply: Reply) -> AsyncGenerator[bytes, None]:
    writers = [ChoiceWriter(reply, index) for index in range(len(reply.generations))]
    async with aclosing(merged([generation.events() for generation in reply.generations])) as steps:
        async for index, events in steps:
            writer = writers[index]
            yield writer.closing() if events is None else writer.chunk(events)
    yield ending(reply)
