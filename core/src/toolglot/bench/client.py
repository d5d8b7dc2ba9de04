"""Sending requests to an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import httpx
import msgspec
from msgspec import Struct

from toolglot.bench.bfcl import Question
from toolglot.bench.replies import Reply, added_up, decode
from toolglot.bench.results import TOOL_CALLS, Result, violation
from toolglot.errors import ToolglotError

_SECONDS = 600
"""How long a reply may take."""
_DATA, _DONE = "data:", "[DONE]"


class Target(Struct, frozen=True, kw_only=True):
    """A server, and how it is asked. ``settings`` are further fields of every request."""

    base_url: str
    api_key: str | None
    model: str
    settings: Mapping[str, Any]
    stream: bool = False
    concurrency: int = 1


class ServerError(ToolglotError):
    """The server does not answer, or not as an OpenAI-compatible server does."""


def first_model(base_url: str, api_key: str | None) -> str:
    """The first model that a server lists.

    Raises:
        ServerError: it lists none.
    """
    try:
        found = httpx.get(f"{base_url}/models", headers=_headers(api_key), timeout=_SECONDS).raise_for_status().json()
        return str(found["data"][0]["id"])
    except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
        raise ServerError(
            f"{base_url}/models: no list of models: {error}; check --base-url, or give --model"
        ) from error


async def ask_all(target: Target, questions: Iterable[Question]) -> AsyncIterator[Result]:
    """Send the questions, ``target.concurrency`` at once, and give the results as they come."""
    waiting = iter(questions)
    running: set[asyncio.Task[Result]] = set()
    async with httpx.AsyncClient(headers=_headers(target.api_key), timeout=_SECONDS) as client:
        while True:
            while len(running) < target.concurrency and (question := next(waiting, None)) is not None:
                running.add(asyncio.create_task(_ask(client, target, question)))
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()


async def _ask(client: httpx.AsyncClient, target: Target, question: Question) -> Result:
    started = time.monotonic()
    try:
        reason, calls = added_up([reply async for reply in _replies(client, target, question)])
    except (httpx.HTTPError, msgspec.DecodeError, ServerError) as error:
        return Result(id=question.id, error=f"{type(error).__name__}: {error}", seconds=_since(started))
    found = violation(question.tools, calls) if reason == TOOL_CALLS else None
    return Result(id=question.id, finish_reason=reason, calls=calls, violation=found, seconds=_since(started))


async def _replies(client: httpx.AsyncClient, target: Target, question: Question) -> AsyncIterator[Reply]:
    """The completion, or its chunks."""
    url, body = f"{target.base_url}/chat/completions", _body(target, question)
    async with client.stream("POST", url, json=body) as response:
        if response.status_code != httpx.codes.OK:
            said = (await response.aread()).decode(errors="replace")
            raise ServerError(f"HTTP {response.status_code}: {said[:500]}")
        if not target.stream:
            yield decode(await response.aread())
            return
        async for line in response.aiter_lines():
            data = line.removeprefix(_DATA).strip()
            if line.startswith(_DATA) and data != _DONE:
                yield _chunk(data)


def _chunk(data: str) -> Reply:
    chunk = decode(data)
    if chunk.error is not None:
        raise ServerError(f"the stream broke: {chunk.error}")
    return chunk


def _body(target: Target, question: Question) -> dict[str, Any]:
    tools = [tool.to_openai() for tool in question.tools]
    body = {"model": target.model, "messages": question.messages, "tools": tools, **target.settings}
    return {**body, "stream": True} if target.stream else body


def _headers(api_key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)
