"""A real server on a free port, in front of an engine that replays what a test wrote."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import openai
import pytest
import uvicorn
from msgspec.structs import replace
from starlette.applications import Starlette
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import toolglot
from toolglot.engine.protocol import EngineStats, ModelInfo, SamplingParams, Speculation, TokenDelta, TokenLogprobs
from toolglot.errors import EngineError, QueueFullError
from toolglot.grammar import CompiledTag, Compiler
from toolglot.prompts import PromptRenderer
from toolglot.server import ServerConfig, create_app
from toolglot.server.life import Life
from toolglot.server.running import uvicorn_config
from toolglot.structural_tag import StructuralTag

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|note|>")
MARKERS = ("<tool_call>", "</tool_call>", "<think>", "</think>")
TEMPLATE = """\
{%- if tools %}<|im_start|>system
Tools:{% for tool in tools %}
{{ tool | tojson }}{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{{ call.function | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if effort is defined %}{{ raise_exception('effort ' ~ effort) }}{% endif %}
{%- if reasoning_effort is defined %}effort: {{ reasoning_effort }}
{% endif %}
{%- if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}
{%- if enable_thinking is defined and enable_thinking %}<think>
{% endif %}
{%- endif %}"""
MAX_MODEL_LEN = 6000
MODEL = "scripted"


@dataclass
class Script:
    """One reply: its tokens a step at a time, and what happens around them."""

    steps: Sequence[tuple[int, ...]]
    finish: str | None = "stop"
    delay: float = 0.0
    error: Exception | None = None
    stop_token: int | None = None
    cached: int = 0
    speculation: Speculation | None = None
    """What is told of its first step."""


@dataclass
class ScriptedEngine:
    """Replays scripts, in the order in which they were written; the last one again and again.

    Grammars are compiled, and a script that breaks its grammar fails, as no engine could have written it.
    """

    tokenizer: Any
    scripts: list[Script] = field(default_factory=list)
    prompts: list[tuple[int, ...]] = field(default_factory=list)
    samplings: list[SamplingParams] = field(default_factory=list)
    constraints: list[CompiledTag | None] = field(default_factory=list)
    full: bool = False
    running: int = 0
    alive: bool = True
    ready: bool = True
    stats: EngineStats | None = None
    yielded: int = 0
    started: int = 0
    stopped: int = 0

    def __post_init__(self) -> None:
        self.stop_token = self.tokenizer.convert_tokens_to_ids("<|im_end|>")
        self.info = ModelInfo(
            name=MODEL,
            max_model_len=MAX_MODEL_LEN,
            vocab_size=len(self.tokenizer),
            stop_token_ids=frozenset({self.stop_token}),
        )
        self.compiler = Compiler(
            self.tokenizer, vocab_size=self.info.vocab_size, stop_token_ids=self.info.stop_token_ids
        )

    def reset(self) -> None:
        self.scripts, self.prompts, self.samplings, self.constraints = [], [], [], []
        self.full, self.yielded = False, 0

    def say(self, text: str, *, each: int = 1, spelled: bool = False, **rest: Any) -> None:
        """Reply with ``text``, ``each`` tokens a step; ``spelled`` writes markers as ordinary text."""
        parts = text if spelled else [text]
        ids = [token for part in parts for token in self.tokenizer.encode(part, add_special_tokens=False)]
        steps = [tuple(ids[at : at + each]) for at in range(0, len(ids), each)]
        self.scripts.append(Script(steps, **rest))

    @property
    def prompt(self) -> str:
        return self.tokenizer.decode(self.prompts[-1])

    async def start(self) -> None:
        self.started += 1

    async def stop(self) -> None:
        self.stopped += 1

    async def compile(self, tag: StructuralTag) -> CompiledTag:
        return await asyncio.to_thread(self.compiler.compile, tag)

    def submit(
        self, prompt: Sequence[int], sampling: SamplingParams, constraint: CompiledTag | None = None
    ) -> AsyncIterator[TokenDelta]:
        if self.full:
            raise QueueFullError(retry_after=3)
        self.prompts.append(tuple(prompt))
        self.samplings.append(sampling)
        self.constraints.append(constraint)
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        return self._replay(script, sampling, constraint)

    async def _replay(
        self, script: Script, sampling: SamplingParams, constraint: CompiledTag | None
    ) -> AsyncIterator[TokenDelta]:
        room, count = sampling.max_tokens, sampling.logprobs
        matcher = constraint and constraint.matcher()
        self.running += 1
        try:
            for number, step in enumerate(script.steps):
                await asyncio.sleep(script.delay)
                self._check(matcher, step)
                self.yielded += 1
                if len(step) >= room:
                    yield TokenDelta(step[:room], "length", logprobs=self.logprobs(step[:room], count))
                    return
                room -= len(step)
                delta = TokenDelta(step, logprobs=self.logprobs(step, count))
                if number == 0:
                    delta = replace(delta, cached_tokens=script.cached, speculation=script.speculation)
                yield delta
            await asyncio.sleep(script.delay)
            if script.error is not None:
                raise script.error
            if script.finish is not None:
                self._check(matcher, (self.stop_token,))
                yield TokenDelta((), script.finish, script.stop_token)
        finally:
            self.running -= 1

    def logprobs(self, tokens: Sequence[int], count: int | None) -> tuple[TokenLogprobs, ...]:
        """What a token's probability is said to be, and those of the tokens that follow it in the vocabulary."""
        if count is None:
            return ()
        following = [[(token + step, -0.5 - token / 100 - step) for step in range(count)] for token in tokens]
        return tuple(
            TokenLogprobs(-0.5 - token / 100, tuple(top)) for token, top in zip(tokens, following, strict=True)
        )

    def _check(self, matcher: Any, tokens: Sequence[int]) -> None:
        for token in tokens:
            if matcher is not None and not matcher.accept(token):
                raise EngineError(f"the grammar refuses {self.tokenizer.decode([token])!r}")


@dataclass
class Reply:
    """What a client has in its hands when a reply is over."""

    content: str | None
    reasoning: str | None
    calls: list[tuple[str, str]]
    finish: str
    usage: dict[str, int] | None
    extension: dict[str, Any] | None

    @classmethod
    def of_whole(cls, body: dict[str, Any]) -> Reply:
        (choice,) = body["choices"]
        message = choice["message"]
        functions = [call["function"] for call in message.get("tool_calls", [])]
        return cls(
            message["content"],
            message.get("reasoning_content"),
            [(function["name"], function["arguments"]) for function in functions],
            choice["finish_reason"],
            body["usage"],
            choice.get("toolglot"),
        )

    @classmethod
    def of_chunks(cls, chunks: list[dict[str, Any]]) -> Reply:
        choices = [choice for chunk in chunks for choice in chunk["choices"]]
        deltas = [choice["delta"] for choice in choices]
        calls: list[tuple[str, str]] = []
        for call in (call for delta in deltas for call in delta.get("tool_calls", [])):
            if "id" in call:
                calls.append((call["function"]["name"], ""))
            name, arguments = calls[call["index"]]
            calls[call["index"]] = (name, arguments + call["function"]["arguments"])
        return cls(
            "".join(delta.get("content", "") for delta in deltas) or None,
            "".join(delta.get("reasoning_content", "") for delta in deltas) or None,
            calls,
            choices[-1]["finish_reason"],
            chunks[-1]["usage"],
            choices[-1].get("toolglot"),
        )


@dataclass
class Served:
    """A running server, and ways to talk to it."""

    url: str
    engine: ScriptedEngine
    client: openai.OpenAI
    http: httpx.Client
    app: Starlette

    @property
    def life(self) -> Life:
        return self.app.state.life

    def post(self, body: Any = None, **fields: Any) -> httpx.Response:
        """A raw chat request; ``body`` as bytes goes as it is."""
        if body is None:
            body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], **fields}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.http.post("/v1/chat/completions", content=content, headers={"Content-Type": "application/json"})

    def chunks(self, **fields: Any) -> list[dict[str, Any]]:
        """The chunks of a streamed reply, off the wire; checks the framing."""
        response = self.post(stream=True, **fields)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        *events, end = response.text.split("\n\n")
        assert end == ""
        assert events[-1] == "data: [DONE]"
        assert all(event.startswith("data: ") for event in events)
        return [json.loads(event.removeprefix("data: ")) for event in events[:-1]]

    def both(self, **fields: Any) -> Reply:
        """The reply, asked for whole and streamed, which must be the same."""
        response = self.post(**fields)
        assert response.status_code == 200, response.text
        whole = Reply.of_whole(response.json())
        assert Reply.of_chunks(self.chunks(stream_options={"include_usage": True}, **fields)) == whole
        return whole

    def error(self, status: int, **fields: Any) -> dict[str, Any]:
        """The error of a request that is refused, whole and streamed."""
        whole, streamed = self.post(**fields), self.post(**{**fields, "stream": True})
        assert (whole.status_code, streamed.status_code) == (status, status), whole.text
        assert whole.json() == streamed.json()
        error = whole.json()["error"]
        assert error.keys() == {"message", "type", "param", "code"}
        return error

    def chat(self, **fields: Any) -> Any:
        """A reply through the official client."""
        fields = {"messages": [{"role": "user", "content": "Hi"}], **fields}
        return self.client.chat.completions.create(model=MODEL, **fields)

    def wait_idle(self, seconds: float = 5.0) -> None:
        """Wait until no request holds a slot."""
        end = time.monotonic() + seconds
        while self.engine.running and time.monotonic() < end:
            time.sleep(0.01)
        assert self.engine.running == 0


@pytest.fixture
def weather() -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return {"type": "function", "function": {"name": "get_weather", "parameters": parameters}}


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    return make_tokenizer()


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A token a byte, with the markers of ChatML and of tool calls."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={char: number for number, char in enumerate(alphabet)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    inner.add_tokens([AddedToken(text, special=False, normalized=False) for text in MARKERS])
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>", clean_up_tokenization_spaces=False)


@pytest.fixture(scope="session")
def serving(tokenizer) -> Iterator[Callable[..., Served]]:
    """``serving(parser="hermes", **config)``: a server with that configuration, one for the whole session."""
    running: dict[str, tuple[Served, Callable[[], None]]] = {}

    def get(parser: str | None = "hermes", **config: Any) -> Served:
        key = repr((parser, sorted(config.items())))
        if key not in running:
            config = {"enable_auto_tool_choice": parser is not None, **config}
            running[key] = start(parser, ServerConfig(**config))
        served = running[key][0]
        served.engine.reset()
        return served

    def start(parser: str | None, config: ServerConfig) -> tuple[Served, Callable[[], None]]:
        engine = ScriptedEngine(tokenizer)
        app = create_app(
            config,
            engine=engine,
            tokenizer=tokenizer,
            prompts=PromptRenderer(tokenizer, chat_template=TEMPLATE),
            parser=None if parser is None else toolglot.load_parser(parser, tokenizer=tokenizer),
        )
        url, stop = _run(app, config)
        key = config.api_keys[0] if config.api_keys else "none"
        client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
        http = httpx.Client(base_url=url, timeout=10, headers={"Authorization": f"Bearer {key}"})

        def close() -> None:
            client.close()
            http.close()
            stop()
            assert engine.started == engine.stopped == 1

        return Served(url, engine, client, http, app), close

    yield get
    for _, close in running.values():
        close()


@pytest.fixture
def served(serving) -> Served:
    return serving()


def _run(app: Any, config: ServerConfig) -> tuple[str, Callable[[], None]]:
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # asyncio switches Nagle's algorithm off where it reads this
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn_config(app, config))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)

    def stop() -> None:
        server.should_exit = True
        thread.join(timeout=10)
        listener.close()
        assert not thread.is_alive()

    return f"http://127.0.0.1:{listener.getsockname()[1]}", stop
