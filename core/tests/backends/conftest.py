"""Stand-ins for engines: small servers that speak the protocols of vLLM 0.32, SGLang 0.5.23 and llama.cpp as their
sources have them, and OpenAI's, and that can fail in every way.

Their model is a text that the test sets. Of grammars they know one: a tag that is a single text is written.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import toolglot
from toolglot.backends.byte_tokenizer import END, byte_tokenizer
from toolglot.backends.dialects import DIALECTS
from toolglot.backends.link import Timeouts
from toolglot.backends.remote import RemoteEngine, Target
from toolglot.backends.replicas import Policy
from toolglot.engine.protocol import ModelInfo, SamplingParams
from toolglot.prompts import PromptRenderer
from toolglot.server import ServerConfig, create_app

KINDS = tuple(DIALECTS)
MODEL = "the-model"
CACHED = 3
LOGPROB = -0.5


class DeathError(Exception):
    """The stand-in cuts the connection."""


@dataclass
class StandIn:
    """One engine. ``fault`` happens after ``after`` tokens; a number is a status instead of an answer."""

    kind: str
    tokenizer: Any
    text: str = "Hello"
    delay: float = 0.0
    fault: str | int = ""
    after: int = 0
    times: int = 10**9
    """How many requests the fault is for."""
    retry_after: str = ""
    incremental: bool = False
    ahead: bool = False
    health: int = 200
    key: str = ""
    model: str = MODEL
    obedient: bool = True
    """Whether it holds to a tag."""
    deterministic: bool = False
    requests: list[dict[str, Any]] = field(default_factory=list)
    running: int = 0
    hung_up: int = 0
    aborted: list[str] = field(default_factory=list)
    server: Any = None
    newer: bool = False
    """Whether the server's details have their new path."""
    only: frozenset[str] = frozenset()
    """The paths that there are; empty: all."""

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def end(self) -> int:
        return self.tokenizer.convert_tokens_to_ids(END)

    def app(self) -> Starlette:
        routes = {
            "/health": self._health,
            "/v1/models": self._models,
            "/props": self._props,
            "/server_info" if self.newer else "/get_server_info": self._server_info,
        }
        writers = {"/v1/completions": self._generate, "/generate": self._generate, "/completion": self._generate}
        posts = {**writers, "/abort_request": self._abort}
        return Starlette(
            routes=[
                *(Route(path, work) for path, work in routes.items()),
                *(Route(path, work, methods=["POST"]) for path, work in posts.items()),
            ]
        )

    async def _health(self, _: Request) -> Response:
        return Response(status_code=self.health)

    async def _models(self, request: Request) -> Response:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return JSONResponse({"error": {"message": "no key", "code": 401}}, 401)
        if self.kind == "llamacpp":
            name = f"/models/{self.model}.gguf"
            return JSONResponse({"data": [{"id": name, "object": "model", "owned_by": "llamacpp", "meta": {}}]})
        card = {"id": self.model, "object": "model", "owned_by": self.kind, "root": "/models/root", "parent": None}
        adapter = {**card, "id": "adapter", "parent": self.model}
        length = {} if self.kind == "openai" else {"max_model_len": 4096}
        return JSONResponse({"object": "list", "data": [card | length, adapter]})

    async def _props(self, _: Request) -> Response:
        if self.only and "/props" not in self.only:
            return Response(status_code=404)
        return JSONResponse({"default_generation_settings": {"n_ctx": 4096}, "total_slots": 4})

    async def _server_info(self, _: Request) -> Response:
        if self.only and "/get_server_info" not in self.only:
            return Response(status_code=404)
        return JSONResponse({"enable_deterministic_inference": self.deterministic, "version": "0.5.23"})

    async def _abort(self, request: Request) -> Response:
        self.aborted.append((await request.json())["rid"])
        return Response()

    async def _generate(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append(body)
        fault = self._next_fault()
        if isinstance(fault, int):
            headers = {"Retry-After": self.retry_after} if self.retry_after else {}
            return JSONResponse({"error": {"message": "because", "code": fault}}, fault, headers)
        return StreamingResponse(self._counted(body, fault), media_type="text/event-stream")

    def _next_fault(self) -> str | int:
        self.times -= 1
        return self.fault if self.times >= 0 else ""

    async def _counted(self, body: dict[str, Any], fault: str) -> AsyncIterator[bytes]:
        self.running += 1
        over = False
        try:
            writer = getattr(self, f"_{self.kind}")
            async for event in writer(body, self._tokens(body, fault)):
                yield event if isinstance(event, bytes) else b"data: " + json.dumps(event).encode() + b"\n\n"
            over = True
        finally:
            self.running -= 1
            self.hung_up += not over

    async def _tokens(self, body: dict[str, Any], fault: str) -> AsyncIterator[int | bytes | None]:
        """The tokens, the last being the one that ends the reply, where there is room for it; bytes are sent as they
        are, and None ends the answer.
        """
        ids = self.tokenizer.encode(self._written(body), add_special_tokens=False)
        for number, token in enumerate([*ids, self.end][: self._room(body)]):
            if fault and number == self.after:
                if fault == "dies":
                    raise DeathError
                if fault == "stalls":
                    yield b": still there\n\n"
                    await asyncio.sleep(30)
                if fault == "ends":
                    yield None
                if fault == "pings":
                    for _ in range(100):
                        yield b": still there\n\n"
                        await asyncio.sleep(0.05)
                yield b"data: {nonsense\n\n" if fault == "garbage" else b'data: {"x'
                if fault == "cut line":
                    yield None
            await asyncio.sleep(self.delay)
            yield token

    def _written(self, body: dict[str, Any]) -> str:
        """The text, or what a tag that is one text says."""
        outputs = body.get("structured_outputs") or body.get("sampling_params") or {}
        tag = outputs.get("structural_tag")
        if tag is not None and self.obedient:
            form = json.loads(tag)["format"]
            return form["value"] if form["type"] == "const_string" else self.text
        grammar = body.get("grammar", "")
        if grammar.count("\n") == 1 and self.obedient:
            return json.loads(grammar.removeprefix("root ::= "))
        return self.text

    def _room(self, body: dict[str, Any]) -> int:
        return body.get("max_tokens") or body.get("n_predict") or body["sampling_params"]["max_new_tokens"]

    # -- the protocols

    async def _vllm(self, body: dict[str, Any], tokens: AsyncIterator[Any]) -> AsyncIterator[Any]:
        written: list[int] = []
        head = {"id": body["request_id"], "object": "text_completion", "created": 1, "model": self.model}
        async for token in tokens:
            if not isinstance(token, int):
                if token is None:
                    return
                yield token
                continue
            written.append(token)
            finish = self._finish(written, body)
            choice = {"index": 0, "text": self._text([token]), "finish_reason": finish, "stop_reason": None}
            choice |= {"token_ids": [token], "logprobs": self._vllm_logprobs(token, body)}
            yield {**head, "choices": [choice]}
        usage = {"prompt_tokens": len(body["prompt"]), "prompt_tokens_details": {"cached_tokens": CACHED}}
        yield {**head, "choices": [], "usage": usage}
        yield b"data: [DONE]\n\n"

    def _vllm_logprobs(self, token: int, body: dict[str, Any]) -> dict[str, Any] | None:
        if body.get("logprobs") is None:
            return None
        assert body["return_tokens_as_token_ids"] is True
        name, other = f"token_id:{token}", "token_id:0"
        return {"tokens": [name], "token_logprobs": [LOGPROB], "top_logprobs": [{name: LOGPROB, other: -0.1}]}

    async def _openai(self, body: dict[str, Any], tokens: AsyncIterator[Any]) -> AsyncIterator[Any]:
        written: list[int] = []
        shown = ""
        async for token in tokens:
            if not isinstance(token, int):
                if token is None:
                    return
                yield token
                continue
            written.append(token)
            text = self._text(written)
            complete = text if not text.endswith("\N{REPLACEMENT CHARACTER}") else shown
            finish = self._finish(written, body)
            yield {"id": "cmpl-1", "choices": [{"index": 0, "text": complete[len(shown) :], "finish_reason": finish}]}
            shown = complete
        yield b"data: [DONE]\n\n"

    async def _sglang(self, body: dict[str, Any], tokens: AsyncIterator[Any]) -> AsyncIterator[Any]:
        written: list[int] = []
        logprobs: list[Any] = []
        async for token in tokens:
            if not isinstance(token, int):
                if token is None:
                    return
                yield token
                continue
            written.append(token)
            logprobs.append([LOGPROB, token, None])
            finish = self._finish(written, body)
            meta = {"id": body["rid"], "prompt_tokens": len(body["input_ids"]), "completion_tokens": len(written)}
            meta |= {"cached_tokens": CACHED, "finish_reason": self._sglang_finish(finish)}
            new = slice(-1, None) if self.incremental else slice(None)
            if body.get("return_logprob"):
                tops = [[[-0.1, 0, None], one] for one in logprobs]
                meta |= {"output_token_logprobs": logprobs[new], "output_top_logprobs": tops[new]}
            ids = list(written)
            if self.ahead and finish is None:  # the list goes on while the answer waits to be sent
                ids.append(
                    self.tokenizer.encode(self._written(body))[len(written)] if self._more(body, ids) else self.end
                )
            yield {"text": self._text(written[new]), "output_ids": ids[new], "meta_info": meta}
        yield b"data: [DONE]\n\n"

    def _more(self, body: dict[str, Any], ids: list[int]) -> bool:
        return len(ids) < len(self.tokenizer.encode(self._written(body)))

    def _sglang_finish(self, finish: str | None) -> dict[str, Any] | None:
        if finish is None:
            return None
        return {"type": finish, "matched": self.end} if finish == "stop" else {"type": finish, "length": 1}

    async def _llamacpp(self, body: dict[str, Any], tokens: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Tokens of an incomplete character are told by nobody, and the last one with all of its text."""
        written: list[int] = []
        shown = 0
        async for token in tokens:
            if not isinstance(token, int):
                if token is None:
                    return
                yield token
                continue
            written.append(token)
            text = self._text([one for one in written if one != self.end])
            if text.endswith("\N{REPLACEMENT CHARACTER}"):
                continue
            partial = {"index": 0, "content": text[shown:], "tokens": [token], "stop": False, "id_slot": 0}
            if body.get("n_probs"):
                one = {"id": token, "token": "?", "bytes": [], "logprob": LOGPROB}
                partial["completion_probabilities"] = [{**one, "top_logprobs": [{**one, "id": 0, "logprob": -0.1}]}]
            yield partial
            shown = len(text)
        stopped = written[-1:] == [self.end]
        final = {"index": 0, "content": "", "tokens": [], "stop": True, "stop_type": "eos" if stopped else "limit"}
        yield {**final, "truncated": False, "timings": {"cache_n": CACHED}, "generation_settings": {"seed": 1}}

    def _finish(self, written: list[int], body: dict[str, Any]) -> str | None:
        if written[-1] == self.end:
            return "stop"
        return "length" if len(written) == self._room(body) else None

    def _text(self, ids: list[int]) -> str:
        return self.tokenizer.decode([one for one in ids if one != self.end], skip_special_tokens=False)


class Running:
    """An application that listens in this event loop, on the same port whenever it is started again."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(self._app, log_level="critical", ws="none")
        self._server = uvicorn.Server(config)
        self._task = asyncio.create_task(self._server._serve([listener]))
        await until(lambda: self._server.started)

    async def kill(self) -> None:
        """Cut all connections, and listen no more."""
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()
        self._server.should_exit = self._server.force_exit = True
        await self._task


async def until(holds: Callable[[], object], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return byte_tokenizer(toolglot.load_parser("hermes").plugin.form)


@pytest.fixture
async def stand_in(tokenizer: Any) -> AsyncIterator[Callable[..., Awaitable[StandIn]]]:
    """Starts a stand-in."""
    running = []

    async def make(kind: str = "vllm", **settings: Any) -> StandIn:
        one = StandIn(kind, tokenizer, **settings)
        one.server = Running(one.app())
        running.append(one.server)
        await one.server.start()
        return one

    yield make
    for one in running:
        await one.kill()


@pytest.fixture
async def engine_for(tokenizer: Any) -> AsyncIterator[Callable[..., Awaitable[RemoteEngine]]]:
    """Starts a gateway's engine in front of stand-ins."""
    engines = []

    async def make(*stand_ins: StandIn, policy: Policy | None = None, **settings: Any) -> RemoteEngine:
        dialect = DIALECTS[stand_ins[0].kind]()
        limits = {"connect": 1.0, "first_token": 2.0, "next_token": 1.0, **settings.pop("timeouts", {})}
        target = Target(
            dialect=dialect,
            urls=tuple(one.url for one in stand_ins),
            model=MODEL,
            takes=dialect.capabilities.takes,
            timeouts=Timeouts(**limits),
            **settings,
        )
        stops = frozenset({tokenizer.eos_token_id})
        info = ModelInfo(name="m", max_model_len=4096, vocab_size=len(tokenizer), stop_token_ids=stops)
        engine = RemoteEngine(target, info, tokenizer, policy or Policy())
        await engine.start()
        engines.append(engine)
        return engine

    yield make
    for engine in engines:
        await engine.stop()


@pytest.fixture
async def gateway(tokenizer: Any) -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Starts a server in front of an engine; its URL."""
    running = []

    async def make(engine: RemoteEngine, **settings: Any) -> str:
        parser = toolglot.load_parser("hermes", tokenizer=tokenizer)
        config = ServerConfig(enable_auto_tool_choice=True, **settings)
        app = create_app(config, engine=engine, tokenizer=tokenizer, prompts=PromptRenderer(tokenizer), parser=parser)
        running.append(Running(app))
        await running[-1].start()
        return running[-1].url

    yield make
    for one in running:
        await one.kill()


@pytest.fixture
def written(tokenizer: Any) -> Callable[..., Awaitable[Any]]:
    """The text of a reply, and its deltas."""

    async def work(engine: RemoteEngine, prompt: Any = (1, 2, 3, 4), constraint: Any = None, **fields: Any) -> Any:
        params = SamplingParams(**{"max_tokens": 90, **fields})
        deltas = [delta async for delta in engine.submit(prompt, params, constraint)]
        ids = [token for delta in deltas for token in delta.token_ids]
        return tokenizer.decode(ids, skip_special_tokens=False), deltas

    return work


@pytest.fixture
def eventually() -> Callable[..., Awaitable[None]]:
    return until


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param
