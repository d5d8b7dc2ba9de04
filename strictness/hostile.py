"""Schemas that are made to cost much, and a server that serves others meanwhile.

Long counts and counts of counts in patterns, very many properties and constants, choices within choices, and depth.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import httpx

import toolglot
from toolglot.engine.protocol import ModelInfo, SamplingParams, TokenDelta
from toolglot.grammar import BoundedCompiler, CompiledTag, Compiler
from toolglot.prompts import PromptRenderer
from toolglot.server import ServerConfig, create_app

STREAMS = 8
"""How many clients are served meanwhile."""
_TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"
_WORDS = "All is well here. " * 4
_SECONDS_A_TOKEN = 0.003
_TRIES = 20


class SteadyEngine:
    """Writes the same words again and again, a token every few milliseconds, as far as the grammar lets it. Grammars
    are followed off the event loop, as engines do.
    """

    def __init__(self, tokenizer: Any) -> None:
        size, stop = len(tokenizer), tokenizer.convert_tokens_to_ids("<|im_end|>")
        self.info = ModelInfo(name="m", max_model_len=4000, vocab_size=size, stop_token_ids=frozenset({stop}))
        self.running = 0
        self._words = tokenizer.encode(_WORDS, add_special_tokens=False)
        self._grammars = BoundedCompiler(
            lambda cache: Compiler(tokenizer, vocab_size=size, stop_token_ids=[stop], cache_bytes=cache)
        )
        self.compile = self._grammars.compile

    async def start(self) -> None:
        self._grammars.start()

    async def stop(self) -> None:
        await self._grammars.stop()

    async def submit(
        self,
        prompt: Sequence[int],  # noqa: ARG002  it says the same to all
        sampling: SamplingParams,  # noqa: ARG002
        constraint: CompiledTag | None = None,
    ) -> AsyncIterator[TokenDelta]:
        matcher = None if constraint is None else await asyncio.to_thread(constraint.matcher)
        for token in self._words:
            await asyncio.sleep(_SECONDS_A_TOKEN)
            if matcher is not None and not await asyncio.to_thread(matcher.accept, token):
                yield TokenDelta((), "length")
                return
            yield TokenDelta((token,))
        yield TokenDelta((), "stop")


def function(name: str, schema: Any) -> dict[str, Any]:
    """A strict tool."""
    return {"type": "function", "function": {"name": name, "strict": True, "parameters": schema}}


def an_object(**properties: Any) -> dict[str, Any]:
    """The schema of an object with just these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return an_object(a=schema)


def _doubled(depth: int, keyword: str) -> dict[str, Any]:
    """Each definition refers to the next one several times: as a tree it would have millions of leaves."""
    definitions: dict[str, Any] = {f"d{depth}": {"type": "string"}}
    for level in range(depth):
        options = [an_object(**{f"k{number}": {"$ref": f"#/$defs/d{level + 1}"}}) for number in range(3)]
        definitions[f"d{level}"] = {keyword: options}
    return {**an_object(a={"$ref": "#/$defs/d0"}), "$defs": definitions}


def _choices(count: int) -> dict[str, Any]:
    """So many unions that must all hold."""
    unions = [{"anyOf": [{"required": [f"p{at}"]}, {"required": [f"q{at}"]}]} for at in range(count)]
    names = {f"{letter}{at}": {"type": "integer"} for letter in "pq" for at in range(count)}
    return {"type": "object", "properties": names, "allOf": unions}


_HUGE_LIST = {"type": "array", "maxItems": 1000, "items": {"type": "array", "maxItems": 100_000}}
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
    "unions of unions": _doubled(12, "anyOf"),
    "joins of joins": _doubled(12, "allOf"),
    "unions that must all hold": _choices(40),
    "nested lists": _nested(60),
    "nested 500 deep": _nested(500),
    "lists of lists of lists": an_object(a={"type": "array", "maxItems": 1000, "items": _HUGE_LIST}),
}


@asynccontextmanager
async def served(tokenizer: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server whose engine is a :class:`SteadyEngine`."""
    app = create_app(
        ServerConfig(enable_auto_tool_choice=True),
        engine=SteadyEngine(tokenizer),
        tokenizer=tokenizer,
        prompts=PromptRenderer(tokenizer, chat_template=_TEMPLATE),
        parser=toolglot.load_parser("hermes", tokenizer=tokenizer),
    )
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://t") as client:
        await ask(client, function("f", an_object(a={"type": "string"})))  # all is started
        yield client


async def ask(client: httpx.AsyncClient, tool: dict[str, Any], **fields: Any) -> httpx.Response:
    """One request with one tool."""
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [tool], **fields}
    return await client.post("/v1/chat/completions", json=body, timeout=60)


async def stream_until(over: asyncio.Event, client: httpx.AsyncClient, name: str, *, anew: bool = False) -> int:
    """Ask for streamed replies until it is over, with one schema or each with a new one; how many there were.

    Raises:
        AssertionError: one is not as it should be.
    """
    replies = 0
    while not over.is_set():
        schema = an_object(**{f"city_{name}_{replies if anew else 0}": {"type": "string"}})
        response = await ask(client, function("weather", schema), stream=True)
        if response.status_code == 429:  # others on this machine left no time to tell how long it takes
            await asyncio.sleep(float(response.headers["retry-after"]))
            continue
        assert response.status_code == 200, response.text
        assert "[DONE]" in response.text
        assert "error" not in response.text
        replies += 1
    return replies


async def answer(client: httpx.AsyncClient, schema: dict[str, Any]) -> tuple[httpx.Response, float]:
    """The answer, asked again a few times where the machine was too busy to tell, and the seconds that it took."""
    for tries in count(1):
        start = time.monotonic()
        response = await ask(client, function("f", schema), tool_choice="required")
        if response.status_code != 429 or tries == _TRIES:
            return response, time.monotonic() - start
        await asyncio.sleep(float(response.headers["retry-after"]))
    raise AssertionError


def anew(schema: dict[str, Any], mark: str) -> dict[str, Any]:
    """The same schema with one property more, so that no answer to it is known yet."""
    return {**schema, "properties": {**schema["properties"], mark: {"type": "string"}}}
