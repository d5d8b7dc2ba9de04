"""A client of one streamed reply that costs next to nothing, so that two hundred of them measure the server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, NamedTuple

from clients.serving import MODEL

_TOOL = {"type": "object", "properties": {"text": {"type": "string"}}}


class Piece(NamedTuple):
    """A piece of a reply."""

    seconds: float
    """When it came."""
    content: str
    arguments: str


class Api(NamedTuple):
    """How one API is asked, and what its events say."""

    path: str
    body: Callable[[str], dict[str, Any]]
    said: Callable[[dict[str, Any]], tuple[str, str]]
    end: bytes
    """How the line of the last event of a reply that came to its end begins."""


def _chat_body(prompt: str) -> dict[str, Any]:
    tool = {"type": "function", "function": {"name": "note", "parameters": _TOOL}}
    return {"messages": [{"role": "user", "content": prompt}], "tools": [tool]}


def _chat_said(event: dict[str, Any]) -> tuple[str, str]:
    deltas = [choice["delta"] for choice in event["choices"]]
    calls = [call["function"].get("arguments", "") for delta in deltas for call in delta.get("tool_calls") or ()]
    return "".join(delta.get("content") or "" for delta in deltas), "".join(calls)


def _responses_body(prompt: str) -> dict[str, Any]:
    tool = {"type": "function", "name": "note", "parameters": _TOOL, "strict": False}
    return {"input": prompt, "tools": [tool]}


def _responses_said(event: dict[str, Any]) -> tuple[str, str]:
    delta = event.get("delta", "")
    is_call = event["type"] == "response.function_call_arguments.delta"
    return ("", delta) if is_call else (delta if event["type"] == "response.output_text.delta" else "", "")


def _messages_body(prompt: str) -> dict[str, Any]:
    tool = {"name": "note", "input_schema": _TOOL}
    return {"messages": [{"role": "user", "content": prompt}], "tools": [tool], "max_tokens": 100_000}


def _messages_said(event: dict[str, Any]) -> tuple[str, str]:
    delta = event.get("delta", {})
    return delta.get("text", ""), delta.get("partial_json", "")


APIS = (
    Api("/v1/chat/completions", _chat_body, _chat_said, b"data: [DONE]"),
    Api("/v1/responses", _responses_body, _responses_said, b'data: {"type":"response.completed"'),
    Api("/v1/messages", _messages_body, _messages_said, b'data: {"type":"message_stop"'),
)


async def pieces(port: int, api: Api, prompt: str) -> AsyncGenerator[Piece, None]:
    """The pieces of a reply, as they come.

    Raises RuntimeError: the answer is no stream, or does not come to its end.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request(api.path, api.body(prompt) | {"model": MODEL, "stream": True}))
        status = await reader.readline()
        if b" 200 " not in status:
            raise RuntimeError(f"{api.path} answers {status!r}")
        await reader.readuntil(b"\r\n\r\n")
        line = b""
        async for line in _data(reader):
            content, arguments = api.said(json.loads(line[6:])) if line.startswith(b"data: {") else ("", "")
            if content or arguments:
                yield Piece(time.perf_counter(), content, arguments)
        if not line.startswith(api.end):
            raise RuntimeError(f"{api.path} ends with {line!r}")
    finally:
        writer.close()


def request(path: str, body: dict[str, Any]) -> bytes:
    """A request as it goes over the wire."""
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: load\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    return head.encode() + b"\r\n\r\n" + content


async def _data(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The lines of data of a chunked answer. The server sends whole lines, so what is none of data is left out."""
    while line := await reader.readline():
        if line == b"0\r\n":
            return
        if line.startswith(b"data: "):
            yield line
