"""``POST /v1/toolglot/parse``: what the served parser makes of an output."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace
from starlette.responses import Response

from toolglot.errors import RequestError
from toolglot.events import Message
from toolglot.parser import Parser
from toolglot.portions import portions
from toolglot.requests import Request, Tool
from toolglot.server.chat.reading import read_choice, read_tools
from toolglot.server.decoding import convert, decode_object
from toolglot.server.encoding import encode_json
from toolglot.server.offline.protocol import ParseAnswer, ParseRequest, Step
from toolglot.server.plain import PlainText
from toolglot.server.service import Service
from toolglot.server.text.tokens import check_tokens
from toolglot.tokens import Piece

S = TypeVar("S", str, Sequence[int])

_MOST_STEPS = 50_000
"""How long a trace may be."""
_ANY = Tool("any")


class _Reading(Struct, frozen=True):
    """An output that was read."""

    message: Message
    trace: tuple[Step, ...]


class OfflineParse:
    """Answers requests to read an output. No model is asked."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(self, body: bytes) -> Response:
        """The response to one request body.

        Raises:
            RequestError: it is none, or the server has no parser.
        """
        content = await asyncio.to_thread(self._answer, body)
        return Response(content, media_type="application/json")

    def _answer(self, body: bytes) -> bytes:
        asked = convert(decode_object(body), ParseRequest)
        parser = self._service.generator.parser
        if isinstance(parser, PlainText):
            raise RequestError("this server has no parser; start it with --tool-call-parser NAME")
        request = self._request(asked)
        pieces = self._pieces(asked, request)
        if asked.tools is None:
            request = replace(request, tools=_called(parser, pieces, request))
        reading = _read(parser, pieces, request, asked)
        return encode_json(ParseAnswer(parser.name, reading.message, reading.trace))

    def _request(self, asked: ParseRequest) -> Request:
        config, tools = self._service.config, read_tools(asked.tools)
        return Request(
            tools=tools,
            tool_choice=read_choice(asked.tool_choice, tools),
            reasoning_open=bool(asked.reasoning_open),
            earlier_calls=asked.earlier_calls or 0,
            constrained=bool(asked.constrained),
            repair=config.repair,
            incomplete_calls=config.incomplete_calls,
            unknown_tools=config.unknown_tools,
        )

    def _pieces(self, asked: ParseRequest, request: Request) -> list[Piece]:
        """What is read at a time, as text."""
        if (asked.text is None) == (asked.token_ids is None):
            raise RequestError("give one of `text` and `token_ids`", param="text")
        if asked.token_ids is None:
            return [Piece(text) for text in _cut(asked.text or "", asked.chunks)]
        generator = self._service.generator
        check_tokens(asked.token_ids, generator.info.vocab_size, "token_ids")
        detokenizer = generator.detokenizer(request)
        return [*map(detokenizer.feed, _cut(asked.token_ids, asked.chunks)), detokenizer.finish()]


def _cut(whole: S, chunks: int | list[int] | None) -> Iterator[S]:
    for number, portion in enumerate(portions(whole, len(whole) or 1 if chunks is None else chunks)):
        if number == _MOST_STEPS:
            raise RequestError(f"these are more than {_MOST_STEPS} chunks; read more at a time", param="chunks")
        yield portion


def _called(parser: Parser, pieces: Sequence[Piece], request: Request) -> tuple[Tool, ...]:
    """Each name that the output calls, as a tool without a schema."""
    stream = parser.start(replace(request, tools=(_ANY,)))
    for piece in pieces:
        stream.feed(piece.text, piece.token_ids, piece.marks)
    stream.finish()
    return tuple(Tool(name) for name in sorted({_ANY.name, *(call.name for call in stream.message.tool_calls)}))


def _read(parser: Parser, pieces: Sequence[Piece], request: Request, asked: ParseRequest) -> _Reading:
    stream = parser.start(request)
    tokens = asked.token_ids is not None
    trace = [
        Step(
            piece.text,
            tuple(stream.feed(piece.text, piece.token_ids, piece.marks)),
            piece.token_ids if tokens else UNSET,
        )
        for piece in pieces
    ]
    trace.append(Step("", tuple(stream.finish(asked.finish_reason or "stop"))))
    return _Reading(stream.message, tuple(trace))
