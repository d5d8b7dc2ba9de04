"""Schemas that are made to cost much, at a server that is serving others."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolglot
from toolglot.engine.protocol import ModelInfo, SamplingParams, TokenDelta
from toolglot.grammar import BoundedCompiler, CompiledTag, Compiler
from toolglot.prompts import PromptRenderer
from toolglot.server import ServerConfig, create_app

TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"
WORDS = "All is well here. " * 4
STREAMS = 8


class SteadyEngine:
    """Replies with WORDS, a token every few milliseconds, as far as the grammar lets it."""

    def __init__(self, tokenizer: Any) -> None:
        size, stop = len(tokenizer), tokenizer.convert_tokens_to_ids("<|im_end|>")
        self.info = ModelInfo(name="m", max_model_len=4000, vocab_size=size, stop_token_ids=frozenset({stop}))
        self.running = 0
        self._words = tokenizer.encode(WORDS, add_special_tokens=False)
        self._grammars = BoundedCompiler(
            lambda cache: Compiler(tokenizer, vocab_size=size, stop_token_ids=[stop], cache_bytes=cache)
        )
        self.compile = self._grammars.compile

    async def start(self) -> None:
        self._grammars.start()

    async def stop(self) -> None:
        await self._grammars.stop()

    async def submit(
        self, prompt: Sequence[int], sampling: SamplingParams, constraint: CompiledTag | None = None
    ) -> AsyncIterator[TokenDelta]:
        matcher = None if constraint is None else constraint.matcher()
        for token in self._words:
            await asyncio.sleep(0.003)
            if matcher is not None and not matcher.accept(token):
                yield TokenDelta((), "length")
                return
            yield TokenDelta((token,))
        yield TokenDelta((), "stop")


def function(name: str, schema: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "strict": True, "parameters": schema}}


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return an_object(a=schema)


def doubled(depth: int, keyword: str) -> dict[str, Any]:
    """Each definition refers to the next one several times: as a tree it would have millions of leaves."""
    definitions: dict[str, Any] = {f"d{depth}": {"type": "string"}}
    for level in range(depth):
        options = [an_object(**{f"k{number}": {"$ref": f"#/$defs/d{level + 1}"}}) for number in range(3)]
        definitions[f"d{level}"] = {keyword: options}
    return {**an_object(a={"$ref": "#/$defs/d0"}), "$defs": definitions}


def choices(count: int) -> dict[str, Any]:
    """So many unions that must all hold."""
    unions = [{"anyOf": [{"required": [f"p{at}"]}, {"required": [f"q{at}"]}]} for at in range(count)]
    names = {f"{letter}{at}": {"type": "integer"} for letter in "pq" for at in range(count)}
    return {"type": "object", "properties": names, "allOf": unions}


HOSTILE: dict[str, dict[str, Any]] = {
    "long repetition": an_object(a={"type": "string", "pattern": "^[a-z]{1,10000}$"}),
    "repetition of repetitions": an_object(a={"type": "string", "pattern": "^(a{1,1000}){1,1000}$"}),
    "a pattern that looks back far": an_object(a={"type": "string", "pattern": "a[ab]{300}$"}),
    "thousand optional properties": {
        "type": "object",
        "properties": {f"property_{number}": {"type": "string"} for number in range(1000)},
    },
    "counted optional properties": {
        "type": "object",
        "properties": {f"p{number}": {"type": "string"} for number in range(200)},
        "minProperties": 50,
        "maxProperties": 150,
    },
    "ten thousand constants": an_object(a={"enum": [f"value number {number}" for number in range(10_000)]}),
    "unions of unions": doubled(12, "anyOf"),
    "joins of joins": doubled(12, "allOf"),
    "unions that must all hold": choices(40),
    "nested lists": nested(60),
    "nested 500 deep": nested(500),
    "lists of lists of lists": an_object(
        a={
            "type": "array",
            "maxItems": 1000,
            "items": {"type": "array", "maxItems": 1000, "items": {"type": "array", "maxItems": 100_000}},
        }
    ),
}


@asynccontextmanager
async def served(tokenizer: Any) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(
        ServerConfig(enable_auto_tool_choice=True),
        engine=SteadyEngine(tokenizer),
        tokenizer=tokenizer,
        prompts=PromptRenderer(tokenizer, chat_template=TEMPLATE),
        parser=toolglot.load_parser("hermes", tokenizer=tokenizer),
    )
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://t") as client:
        yield client


async def ask(client: httpx.AsyncClient, tool: dict[str, Any], **fields: Any) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [tool], **fields}
    return await client.post("/v1/chat/completions", json=body, timeout=60)


async def streams(client: httpx.AsyncClient, number: int, over: asyncio.Event) -> int:
    """Ask for streamed replies, each with a schema that is new, until it is over; returns how many there were."""
    count = 0
    while not over.is_set():
        schema = an_object(**{f"city_{number}_{count}": {"type": "string"}})
        response = await ask(client, function("weather", schema), stream=True)
        assert response.status_code == 200, response.text
        assert "[DONE]" in response.text
        assert "error" not in response.text
        count += 1
    return count


async def answer(client: httpx.AsyncClient, schema: dict[str, Any]) -> tuple[httpx.Response, float]:
    """The answer, asked again where the machine was too busy to tell, and the seconds that it took."""
    while True:
        start = time.monotonic()
        response = await ask(client, function("f", schema), tool_choice="required")
        if response.status_code != 429:
            return response, time.monotonic() - start


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
async def test_hostile_schemas_are_answered_and_cost_nobody_else(tokenizer):
    over = asyncio.Event()
    async with served(tokenizer) as client:
        await ask(client, function("f", an_object(a={"type": "string"})))  # all is started
        before = resident()
        normal = [asyncio.create_task(streams(client, number, over)) for number in range(STREAMS)]

        answers = {name: await answer(client, schema) for name, schema in HOSTILE.items()}

        over.set()
        counts = await asyncio.gather(*normal)
        for name, (response, seconds) in answers.items():
            assert response.status_code in (200, 400), f"{name}: {response.text}"
            assert seconds < 10, name  # two on a machine with nothing else to do
        assert len(answers) == 12
        assert all(counts)
        assert resident() - before < 400 << 20
