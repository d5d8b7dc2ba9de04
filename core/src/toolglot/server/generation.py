"""From a request to events: the part of serving that every API shares."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from toolglot.engine.protocol import Constraint, Engine, ModelInfo, SamplingParams, TokenDelta
from toolglot.errors import EngineError, GrammarError, QueueFullError
from toolglot.events import Call, Event, Finish, Message, MessageBuilder
from toolglot.parser import Parser
from toolglot.prompts import Prompt, Renderer
from toolglot.requests import Output, Request, StrictLevel
from toolglot.server.config import ServerConfig
from toolglot.server.errors import TOO_LONG, ApiError
from toolglot.server.metrics import Metrics
from toolglot.server.notes import NOTHING, notes
from toolglot.server.plain import PlainText
from toolglot.server.protocol import Relaxed
from toolglot.server.response_format import ResponseFormat
from toolglot.server.stops import StopStrings
from toolglot.server.strict import Held, hold, recommended_level
from toolglot.tokens import Detokenizer, Piece
from toolglot.tokens.table import token_table
from toolglot.validation import Validator
from toolglot.vocabulary import special_token_ids

_MOST_PREPARING = 256
"""How many requests may wait for their prompt."""
_HOLDING = 2
"""How many requests' schemas are read at once."""


class Prepared(Struct, frozen=True):
    """A request whose prompt is made."""

    request: Request
    prompt: tuple[int, ...]
    relaxed: tuple[Relaxed, ...] = ()
    """What the reply's grammar leaves out, once there is one."""


class Generator:
    """Makes prompts, grammars and generations for one served model."""

    def __init__(
        self, config: ServerConfig, *, engine: Engine, tokenizer: Any, prompts: Renderer, parser: Parser | None
    ) -> None:
        self.engine = engine
        self.parser = parser or PlainText()
        self.strict_level: StrictLevel = config.strict_level or recommended_level(self.parser) or "auto"
        """How much is held to a grammar at the least."""
        self.metrics = Metrics((*config.served_model_names, engine.info.name)[0], self.parser.name)
        self._enforce_calls = config.enforce_strict_tool_calling
        self._tokenizer = tokenizer
        self._prompts = prompts
        self._reasons = self.parser.reasons_in(prompts.template)
        self._hidden = special_token_ids(tokenizer) - self.parser.marker_ids
        self._most_characters = engine.info.max_model_len * max(map(len, token_table(tokenizer).texts))
        self._preparing = 0
        self._renders = ThreadPoolExecutor(1, "toolglot-prompts")  # tokenizers do not promise to serve two threads
        self._holds = ThreadPoolExecutor(_HOLDING, "toolglot-schemas")
        self.detokenizer(Request())  # tells now, not at a request, that the tokenizer is of a kind without a reader

    def close(self) -> None:
        """End the threads that render prompts and read schemas."""
        self._renders.shutdown(wait=False)
        self._holds.shutdown(wait=False)

    @property
    def has_parser(self) -> bool:
        return not isinstance(self.parser, PlainText)

    @property
    def info(self) -> ModelInfo:
        return self.engine.info

    async def prepare(self, request: Request) -> Prepared:
        """Render the prompt, and find out from it how the reply may begin.

        Raises:
            RequestError: the template refuses the conversation.
            ApiError: the conversation is too long for any prompt.
            QueueFullError: many others are being prepared.
        """
        for param, told in (("messages", request.messages), ("tools", [tool.to_openai() for tool in request.tools])):
            if _characters(told) > self._most_characters:
                message = f"the {param} are more than the {self.info.max_model_len} tokens that the model can take"
                raise ApiError(400, message, param=param, code=TOO_LONG)
        prompt = await self._render(request := self.parser.adjust(request))
        reasoning = self.parser.prompt_reasoning(prompt.text)
        request = replace(
            request, reasoning_open=reasoning == "open", may_reason=self._reasons and reasoning != "closed"
        )
        return Prepared(request, prompt.token_ids)

    async def _render(self, request: Request) -> Prompt:
        if self._preparing >= _MOST_PREPARING:
            raise QueueFullError(retry_after=1)
        self._preparing += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._renders, self._prompts.render, request)
        finally:
            self._preparing -= 1

    async def begin(
        self,
        prepared: Prepared,
        sampling: SamplingParams,
        stops: Sequence[str] = (),
        response_format: ResponseFormat | None = None,
    ) -> Generation:
        """Compile the grammar, where there is one. Nothing runs before the generation is iterated.

        Raises:
            GrammarError: a schema cannot be enforced, and must be; ``param`` is the field with it.
        """
        try:
            held = await self._hold(prepared.request, response_format)
            constraint = None if held.tag is None else await self.engine.compile(held.tag)
        except GrammarError as error:
            self.metrics.refused()
            if prepared.request.calls_allowed or "response_format" in (error.param or ""):
                raise
            raise GrammarError(str(error), param="response_format") from error
        self.metrics.relaxed(held.relaxed)
        return Generation(self, Prepared(held.request, prepared.prompt, held.relaxed), sampling, constraint, stops)

    async def _hold(self, request: Request, response_format: ResponseFormat | None) -> Held:
        """As :func:`hold`, in a thread where schemas are to be read."""
        work = partial(hold, self.parser, request, response_format, enforce_calls=self._enforce_calls)
        if not request.tools and response_format is None:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._holds, work)

    def detokenizer(self, request: Request) -> Detokenizer:
        """A new detokenizer for one reply."""
        hidden = self._hidden if request.skip_special_tokens else frozenset()
        return Detokenizer(self._tokenizer, hidden=hidden)


class Generation:
    """One reply. Use one of :meth:`events` and :meth:`read`, once; the counts are right when it has ended."""

    def __init__(
        self,
        generator: Generator,
        prepared: Prepared,
        sampling: SamplingParams,
        constraint: Constraint | None,
        stops: Sequence[str],
    ) -> None:
        self.request = prepared.request
        self.message = Message()
        """The whole reply, when it has ended."""
        self.notes = NOTHING
        """What is to be said of it then."""
        self.prompt_tokens = len(prepared.prompt)
        self.completion_tokens = 0
        """Tokens of the reply so far; a stop token is not counted."""
        self.finish: Finish = "stop"
        self._generator = generator
        self._prompt = prepared.prompt
        self._relaxed = prepared.relaxed
        self._sampling = sampling
        self._constraint = constraint
        self._stops = stops
        self._builder = MessageBuilder()

    async def events(self) -> AsyncGenerator[list[Event], None]:
        """The events of each step, perhaps none, until a stop string or the end. Closing it cancels the generation.

        Raises:
            EngineError: generation failed, or the queue is full.
        """
        async with aclosing(self._steps()) as steps:
            async for events in steps:
                for event in events:
                    self._builder.add(event)
                yield events
        self._conclude(self._builder.message())

    async def read(self) -> Message:
        """The whole reply.

        Raises:
            EngineError: generation failed, or the queue is full.
        """
        if self._stops:  # content must be known while it is generated
            async with aclosing(self.events()) as steps:
                async for _ in steps:
                    pass
            return self.message
        async with aclosing(self._pieces()) as pieces:
            output = _joined([piece async for piece in pieces])
        self._conclude(self._generator.parser.read(replace(output, finish=self.finish), self.request))
        return self.message

    def _conclude(self, message: Message) -> None:
        """Check the calls, also those of parsers that check none, and count them."""
        validator = Validator(self.request.tools)
        calls = tuple(_checked(call, validator) for call in message.tool_calls)
        self.message = replace(message, tool_calls=calls)
        self.notes = notes(self.request, calls, self._relaxed)
        self._generator.metrics.reply(self.notes)

    async def _steps(self) -> AsyncGenerator[list[Event], None]:
        stream = self._generator.parser.start(self.request)
        stops = StopStrings(self._stops)
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                yield stops.filter(stream.feed(piece.text, piece.token_ids, piece.marks))
                if stops.hit:
                    self.finish = "stop"
                    return
        yield [*stops.filter(stream.finish(self.finish)), *stops.flush()]
        if stops.hit:
            self.finish = "stop"

    async def _pieces(self) -> AsyncGenerator[Piece, None]:
        detokenizer = self._generator.detokenizer(self.request)
        async with aclosing(self._submit()) as deltas:
            async for delta in deltas:
                self.completion_tokens += len(delta.token_ids)
                yield detokenizer.feed((*delta.token_ids, *self._closing(delta)))
                if delta.finish is not None:
                    self.finish = delta.finish
                    break
            else:
                raise EngineError("the engine ended this reply without saying why")
        if self.finish == "abort":
            raise EngineError("the server gave this reply up")
        yield detokenizer.finish()

    def _closing(self, delta: TokenDelta) -> tuple[int, ...]:
        """A stop token that is also a marker, as harmony's end of a call is. Within a grammar it was delivered before:
        there the output goes on after it.
        """
        token = delta.stop_token
        if token is None or self.request.constrained or token not in self._generator.parser.marker_ids:
            return ()
        return (token,)

    def _submit(self) -> AsyncGenerator[TokenDelta, None]:
        return self._generator.engine.submit(self._prompt, self._sampling, self._constraint)


def _checked(call: Call, validator: Validator) -> Call:
    return replace(call, outcome=validator.outcome(call.name, call.arguments)) if call.outcome == "ok" else call


def _joined(pieces: Sequence[Piece]) -> Output:
    ids: list[int] = []
    marks: list[tuple[int, int]] = []
    length = 0
    for piece in pieces:
        ids += piece.token_ids
        marks += [(length + offset, token) for offset, token in piece.marks]
        length += len(piece.text)
    return Output("".join(piece.text for piece in pieces), tuple(ids), tuple(marks))


def _characters(value: Any) -> int:
    """How much text there is in a JSON value; it is not deep, or it would have been refused."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_characters, value.values())) + sum(map(len, value))
    return sum(map(_characters, value)) if isinstance(value, list | tuple) else 0
