"""From a request to events: the part of serving that every API shares."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from itertools import zip_longest
from typing import Any, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from toolglot.engine.protocol import Constraint, Engine, ModelInfo, SamplingParams, TokenDelta
from toolglot.errors import EngineError, GrammarError, PromptTooLongError, UnenforceableError
from toolglot.events import Call, Event, Finish, Message, MessageBuilder
from toolglot.parser import Parser
from toolglot.prompts import Prompt, Renderer
from toolglot.prompts.encoding import require_room
from toolglot.requests import Output, Request, StrictLevel
from toolglot.server import record
from toolglot.server.config import ServerConfig
from toolglot.server.content_tokens import ContentToken, ContentTokens
from toolglot.server.encoding import encode_json
from toolglot.server.errors import TOO_LONG, ApiError, takes_together
from toolglot.server.extension import Relaxed
from toolglot.server.lanes import Lanes
from toolglot.server.metrics import Metrics
from toolglot.server.notes import NOTHING, notes
from toolglot.server.plain import PlainText
from toolglot.server.response_format import ResponseFormat
from toolglot.server.stops import Stops, StopStrings
from toolglot.server.strict import Held, hold, recommended_level, released, without_preferences
from toolglot.tokens import Detokenizer, Piece
from toolglot.tokens.table import token_table
from toolglot.validation import Validator
from toolglot.vocabulary import special_token_ids

T = TypeVar("T")

_COUNTED = 4
"""How many times the tokens that the model takes are counted, where there is to be no reply."""
_TOKEN_BYTES = 4
"""How many bytes of text a token is, about."""
_HOLDING = 2
"""How many requests' schemas are read at once."""


class Prepared(Struct, frozen=True):
    """A request whose prompt is made."""

    request: Request
    prompt: tuple[int, ...]
    parser: Parser | PlainText
    """What reads the reply."""
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
        self.token_texts = token_table(tokenizer).texts
        """The bytes that each token stands for, by id."""
        self._most_bytes = engine.info.max_model_len * max(map(len, self.token_texts))
        self._prompting = Lanes("toolglot-prompts")
        self._holds = ThreadPoolExecutor(_HOLDING, "toolglot-schemas")
        self.detokenizer(Request())  # tells now, not at a request, that the tokenizer is of a kind without a reader

    def close(self) -> None:
        """End the threads that render prompts and read schemas."""
        self._prompting.close()
        self._holds.shutdown(wait=False)

    @property
    def has_parser(self) -> bool:
        return not isinstance(self.parser, PlainText)

    @property
    def info(self) -> ModelInfo:
        return self.engine.info

    async def prepare(self, request: Request, *, param: str = "messages", counting: bool = False) -> Prepared:
        """Render the prompt, and find out from it how the reply may begin. ``param`` is the field that the prompt is
        made of; ``counting`` is for prompts that are longer than the model takes.

        Raises:
            RequestError: the template refuses the conversation.
            ApiError: the conversation is too long.
            QueueFullError: many others of its size are being prepared.
        """
        request = self.parser.adjust(request)
        work = partial(self._rendered, request, self._most_tokens(counting))
        prompt, reasoning = await self._prompted(_size(request), work, param, counting)
        request = replace(
            request, reasoning_open=reasoning == "open", may_reason=self._reasons and reasoning != "closed"
        )
        return Prepared(request, prompt.token_ids, self.parser)

    def _rendered(self, request: Request, most_tokens: int) -> tuple[Prompt, Literal["open", "closed", "absent"]]:
        self._check_length(request.messages, "messages")
        self._check_length([tool.to_openai() for tool in request.tools], "tools")
        prompt = self._prompts.render(request, most_tokens=most_tokens)
        return prompt, self.parser.prompt_reasoning(prompt.text)

    def _check_length(self, value: Any, param: str) -> None:
        """Refuse text that fits into no prompt, before work is done for it."""
        if _text_bytes(value) > self._most_bytes:
            message = f"`{param}` is more than the {self.info.max_model_len} tokens that the model can take"
            raise ApiError(400, message, param=param, code=TOO_LONG)

    def prepared_text(self, prompt: Sequence[int], skip_special_tokens: bool) -> Prepared:
        """A prompt of tokens whose reply is plain text."""
        return Prepared(Request(skip_special_tokens=skip_special_tokens), tuple(prompt), PlainText())

    async def encode(self, text: str, *, add_special_tokens: bool, counting: bool = False) -> list[int]:
        """The tokens of a text that is a prompt as it stands: what spells a special token becomes one.

        Raises:
            ApiError: the text is too long; ``counting`` as in :meth:`prepare`.
            QueueFullError: many others of its size are being prepared.
        """
        encode = partial(self._tokenizer.encode, add_special_tokens=add_special_tokens)

        def work() -> list[int]:
            self._check_length(text, "prompt")
            require_room([text], encode, self._most_tokens(counting))
            return encode(text)  # type: ignore[no-any-return]  # transformers is not typed

        return await self._prompted(len(text), work, "prompt", counting)

    async def decode(self, token_ids: Sequence[int]) -> str:
        """The text of these tokens, special ones too.

        Raises:
            QueueFullError: many others are being prepared.
        """
        work = partial(_decoded, Detokenizer(self._tokenizer), token_ids)
        return await self._prompting.run(_TOKEN_BYTES * len(token_ids), work)

    async def _prompted(self, size: int, work: Callable[[], T], param: str, counting: bool) -> T:
        """Do the work that makes a prompt of so many bytes, in a thread."""
        try:
            return await self._prompting.run(size, work)
        except PromptTooLongError as error:
            most = self._most_tokens(counting)
            takes = f"this server counts {most} at most" if counting else takes_together(most)
            raise ApiError(400, f"{error}; {takes}", param=param, code=TOO_LONG) from error

    def _most_tokens(self, counting: bool) -> int:
        return self.info.max_model_len * (_COUNTED if counting else 1)

    async def begin(
        self,
        prepared: Prepared,
        sampling: SamplingParams,
        stops: Stops = Stops(),  # noqa: B008  it is frozen
        response_format: ResponseFormat | None = None,
    ) -> Generation:
        """Compile the grammar, where there is one. Nothing runs before the generation is iterated.

        Raises:
            GrammarError: a schema cannot be enforced, and must be; ``param`` is the field with it.
        """
        try:
            held, constraint = await self._constrained(prepared, response_format)
        except GrammarError as error:
            self.metrics.refused()
            if prepared.request.calls_allowed or "response_format" in (error.param or ""):
                raise
            raise GrammarError(str(error), param="response_format") from error
        self.metrics.relaxed(held.relaxed)
        prepared = replace(prepared, request=held.request, relaxed=held.relaxed)
        return Generation(self, prepared, sampling, constraint, stops)

    async def _constrained(
        self, prepared: Prepared, response_format: ResponseFormat | None
    ) -> tuple[Held, Constraint | None]:
        """What the reply is held to; without tools that need not be, where it would be too much with them."""
        try:
            held = await self._hold(prepared, response_format)
            return await self._compiled(held, response_format)
        except GrammarError as error:
            request, relaxed = without_preferences(prepared.request, error)
            if not relaxed:
                raise
        held, constraint = await self._constrained(replace(prepared, request=request), response_format)
        return replace(held, relaxed=(*held.relaxed, *relaxed)), constraint

    async def _compiled(self, held: Held, response_format: ResponseFormat | None) -> tuple[Held, Constraint | None]:
        if held.tag is None:
            return held, None
        try:
            return held, await self.engine.compile(held.tag)
        except UnenforceableError as error:
            return released(held, response_format, error), None

    async def _hold(self, prepared: Prepared, response_format: ResponseFormat | None) -> Held:
        """As :func:`hold`, in a thread where schemas are to be read."""
        request = prepared.request
        work = partial(hold, prepared.parser, request, response_format, enforce_calls=self._enforce_calls)
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
        stops: Stops,
    ) -> None:
        self.request = prepared.request
        self.message = Message()
        """The whole reply, when it has ended."""
        self.notes = NOTHING
        """What is to be said of it then."""
        self.prompt_tokens = len(prepared.prompt)
        self.max_tokens = sampling.max_tokens
        """The most tokens that the reply may have."""
        self.cached_tokens = 0
        """Tokens of the prompt that the engine did not have to compute; known from the first step on."""
        self.completion_tokens = 0
        """Tokens of the reply so far; a stop token is not counted."""
        self.prompt_token_ids = prepared.prompt
        self.token_ids: list[int] = []
        """The tokens of the reply so far, all that the model wrote: a stop token too, at the end."""
        self.stop_string: str | None = None
        """The stop string that ended the reply."""
        self.finish: Finish = "stop"
        self._generator = generator
        self._prepared = prepared
        self._sampling = sampling
        self._constraint = constraint
        self._stops = stops
        self._builder = MessageBuilder()
        self._content = ContentTokens()

    def another(self, sampling: SamplingParams) -> Generation:
        """One more reply to the same request, under the same grammar."""
        return Generation(self._generator, self._prepared, sampling, self._constraint, self._stops)

    def holds_all_of(self, tool: str) -> bool:
        """Whether a grammar holds the reply, and nothing of the tool of this name is left out of it."""
        return self.request.constrained and all(note.tool != tool for note in self._prepared.relaxed)

    def content_tokens(self, length: int) -> list[ContentToken]:
        """The tokens of the next ``length`` characters of content that :meth:`events` gave out, or of all of it after
        :meth:`read`, where the sampling asks for their probabilities. Each is told once.
        """
        return self._content.take(length)

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
        if self._stops.strings or self._tells_probabilities:  # content must be known while it is generated
            async with aclosing(self.events()) as steps:
                async for _ in steps:
                    pass
            return self.message
        async with aclosing(self._pieces()) as pieces:
            output = _joined([piece async for piece in pieces])
        self._conclude(self._prepared.parser.read(replace(output, finish=self.finish), self.request))
        return self.message

    def _conclude(self, message: Message) -> None:
        """Check the calls, also those of parsers that check none, and count them."""
        validator = Validator(self.request.tools)
        calls = tuple(_checked(call, validator) for call in message.tool_calls)
        self.message = replace(message, tool_calls=calls)
        self.notes = notes(self.request, calls, self._prepared.relaxed)
        self._generator.metrics.reply(self.notes)

    async def _steps(self) -> AsyncGenerator[list[Event], None]:
        stream = self._prepared.parser.start(self.request)
        stops = StopStrings(self._stops.strings, included=self._stops.included)
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                yield stops.filter(self._placed(stream.feed(piece.text, piece.token_ids, piece.marks), piece.text))
                if stops.hit:
                    break
        if not stops.hit:
            yield [*stops.filter(self._placed(stream.finish(self.finish))), *stops.flush()]
        if stops.hit:
            self.stop_string, self.finish = stops.found, "stop"

    def _placed(self, events: list[Event], text: str = "") -> list[Event]:
        """The events that this text brought, after it is noted which tokens their content is made of."""
        if self._tells_probabilities:
            self._content.feed(text, events)
        return events

    async def _pieces(self) -> AsyncGenerator[Piece, None]:
        detokenizer = self._generator.detokenizer(self.request)
        async with aclosing(self._submit()) as deltas:
            async for delta in deltas:
                self.cached_tokens += delta.cached_tokens
                for tokens in self._portions(delta):
                    yield detokenizer.feed(tokens)
                if delta.finish is not None:
                    self.finish = delta.finish
                    break
            else:
                raise EngineError("the engine ended this reply without saying why")
        if self.finish == "abort":
            raise EngineError("the server gave this reply up")
        yield detokenizer.finish()

    def _portions(self, delta: TokenDelta) -> Iterator[tuple[int, ...]]:
        """The tokens that are read together, each counted before it is; one at a time where it matters which text each
        brought: after a stop string, none is read or counted.
        """
        if self._tells_probabilities and len(delta.logprobs) != len(delta.token_ids):
            raise EngineError("the engine tells no probabilities")
        closing = self._closing(delta)
        if not (self._tells_probabilities or self._stops.strings):
            self._count(delta.token_ids, delta.stop_token)
            yield (*delta.token_ids, *closing)
            return
        for token, logprobs in zip_longest(delta.token_ids, delta.logprobs):
            if logprobs is not None:
                self._content.expect(ContentToken(token, logprobs))
            self._count((token,))
            yield (token,)
        self._count((), delta.stop_token)
        if closing or not delta.token_ids:
            yield closing

    def _count(self, token_ids: Sequence[int], stop_token: int | None = None) -> None:
        self.completion_tokens += len(token_ids)
        self.token_ids += token_ids
        if stop_token is not None:
            self.token_ids.append(stop_token)

    @property
    def _tells_probabilities(self) -> bool:
        return self._sampling.logprobs is not None

    def _closing(self, delta: TokenDelta) -> tuple[int, ...]:
        """A stop token that is also a marker, as harmony's end of a call is. Within a grammar it was delivered before:
        there the output goes on after it.
        """
        token = delta.stop_token
        if token is None or self.request.constrained or token not in self._prepared.parser.marker_ids:
            return ()
        return (token,)

    def _submit(self) -> AsyncGenerator[TokenDelta, None]:
        current = record.current()
        sampling = replace(self._sampling, cache_salt=current.cache_salt) if current else self._sampling
        return self._generator.engine.submit(self.prompt_token_ids, sampling, self._constraint)


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


def _size(request: Request) -> int:
    """How many bytes the parts have that a prompt is made of."""
    tools = [tool.to_openai() for tool in request.templated_tools]
    return len(encode_json((request.messages, tools, request.chat_template_kwargs)))


def _decoded(detokenizer: Detokenizer, token_ids: Sequence[int]) -> str:
    return detokenizer.feed(token_ids).text + detokenizer.finish().text


def _text_bytes(value: Any) -> int:
    """How many bytes of text there are in a JSON value; it is not deep, or it would have been refused."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode(errors="surrogatepass"))
    if isinstance(value, Mapping):
        return sum(map(_text_bytes, value.values())) + sum(map(_text_bytes, value))
    return sum(map(_text_bytes, value)) if isinstance(value, list | tuple) else 0
