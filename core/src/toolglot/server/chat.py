"""``POST /v1/chat/completions``: the life of a request."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from msgspec.structs import replace
from starlette.responses import Response

from toolglot.errors import RequestError
from toolglot.prompts import count_tool_calls, read_messages
from toolglot.requests import Request
from toolglot.server.chunks import DONE, ChunkWriter
from toolglot.server.completion import completion
from toolglot.server.config import ServerConfig
from toolglot.server.decoding import convert, decode_object
from toolglot.server.encoding import encode_json
from toolglot.server.errors import ApiError, error_bytes
from toolglot.server.generation import Generation, Generator
from toolglot.server.models import ServedModels
from toolglot.server.protocol import HARMLESS_ONLY, ChatRequest
from toolglot.server.reply import Reply
from toolglot.server.response_format import ResponseFormat, read_response_format
from toolglot.server.sampling import sampling_params, stop_strings
from toolglot.server.sse import EventStream
from toolglot.server.tools import check_served, read_choice, read_tools

_LARGE_BODY = 64 * 1024
"""From how many bytes on a body is decoded in a thread, so that other clients do not wait for it."""


class ChatCompletions:
    """Answers chat requests from one generator."""

    def __init__(self, config: ServerConfig, models: ServedModels, generator: Generator) -> None:
        self._config = config
        self._models = models
        self._generator = generator

    async def answer(self, body: bytes) -> Response:
        """The response to one request body.

        Raises:
            ToolglotError: the request cannot be served, or generation failed before the first byte.
        """
        large = len(body) > _LARGE_BODY
        chat = await asyncio.to_thread(self._read, body) if large else self._read(body)
        generation = await self._generation(chat)
        reply = self._reply(chat)
        if chat.stream:
            return await EventStream.open(_stream(reply, generation), _broken)
        message = await generation.read()
        return Response(encode_json(completion(reply, message, generation)), media_type="application/json")

    def _read(self, body: bytes) -> ChatRequest:
        value = decode_object(body)
        chat = convert(value, ChatRequest)
        self._models.check(chat.model)
        _refuse_unserved(value, HARMLESS_ONLY)
        if chat.stream_options is not None and not chat.stream:
            raise RequestError("`stream_options` goes with `stream: true` only", param="stream_options")
        return chat

    async def _generation(self, chat: ChatRequest) -> Generation:
        response_format = read_response_format(chat.response_format)
        prepared = await self._generator.prepare(self._request(chat, response_format))
        sampling = sampling_params(chat, len(prepared.prompt), self._generator.info.max_model_len)
        return await self._generator.begin(prepared, sampling, stop_strings(chat), response_format)

    def _request(self, chat: ChatRequest, response_format: ResponseFormat | None) -> Request:
        config = self._config
        messages = read_messages(chat.messages)
        tools = read_tools(chat.tools)
        choice = read_choice(chat.tool_choice, tools)
        check_served(tools, choice, config, has_parser=self._generator.has_parser)
        request = Request(
            messages=messages,
            tools=tools,
            tool_choice=choice,
            parallel_tool_calls=chat.parallel_tool_calls is not False,
            chat_template_kwargs=self._template_kwargs(chat),
            skip_special_tokens=chat.skip_special_tokens is not False,
            earlier_calls=count_tool_calls(messages),
            repair=config.repair,
            incomplete_calls=config.incomplete_calls,
            unknown_tools=config.unknown_tools,
            strict_level=self._generator.strict_level,
            content_schema=None if response_format is None else response_format.schema,
            any_property_order=config.any_property_order and not (response_format and response_format.strict),
        )
        hide_tools = choice == "none" and config.exclude_tools_when_tool_choice_none
        return replace(request, tools=()) if hide_tools else request

    def _template_kwargs(self, chat: ChatRequest) -> dict[str, Any]:
        effort = {} if chat.reasoning_effort is None else {"reasoning_effort": chat.reasoning_effort}
        return {**self._config.default_chat_template_kwargs, **effort, **(chat.chat_template_kwargs or {})}

    def _reply(self, chat: ChatRequest) -> Reply:
        return Reply(
            id=f"chatcmpl-{uuid.uuid4().hex}",
            created=int(time.time()),
            model=chat.model,
            include_reasoning=chat.include_reasoning is not False,
            include_usage=bool(chat.stream_options and chat.stream_options.include_usage),
            extensions=self._config.extensions,
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


def _refuse_unserved(value: Mapping[str, Any], harmless: Mapping[str, tuple[Any, ...]]) -> None:
    for name in value.keys() & harmless.keys():
        if value[name] is not None and not any(_same(value[name], other) for other in harmless[name]):
            allowed = " or ".join(encode_json(other).decode() for other in harmless[name])
            only = f"; leave it out or set it to {allowed}" if allowed else "; leave it out"
            raise RequestError(f"`{name}` is not supported{only}", param=name)


def _same(value: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not 1, though Python says so."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)
