"""``/v1/responses``: the life of a request, and what clients may do with a response afterwards."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response as HttpResponse

from toolglot.errors import ToolglotError
from toolglot.server.ask import Ask
from toolglot.server.chat.logprobs import logprobs
from toolglot.server.chat.protocol import TokenLogprob
from toolglot.server.decoding import decoded, off_loop
from toolglot.server.encoding import encode_json, json_response
from toolglot.server.errors import TOO_LONG, ApiError
from toolglot.server.generation import Generation
from toolglot.server.responses import reading
from toolglot.server.responses.conversation import beginnings, without_oldest
from toolglot.server.responses.events import StreamEvent, encode_events
from toolglot.server.responses.faults import in_own_words
from toolglot.server.responses.items import Item, decode, listed, new_id, new_item_id, read_items
from toolglot.server.responses.protocol import (
    ENCRYPTED_REASONING,
    LOGPROBS,
    EchoedReasoning,
    EchoedTool,
    FunctionTool,
    InputTokens,
    InputTokensRequest,
    Response,
    ResponsesRequest,
)
from toolglot.server.responses.store import ResponseStore, StoredItem, StoredResponse
from toolglot.server.responses.writing import ResponseWriter, Shown, no_logprobs
from toolglot.server.service import Service
from toolglot.server.sse import EventStream

R = TypeVar("R", bound=InputTokensRequest)


class Conversation(Struct, frozen=True):
    """What a response is made of."""

    earlier: tuple[StoredItem, ...]
    """What is stored of it."""
    new: Sequence[Item]
    """What came with the request."""
    items: Sequence[Item]
    """All of it."""


class Responses:
    """Answers requests for responses, and keeps what clients may come back to."""

    def __init__(self, service: Service, store: ResponseStore) -> None:
        self._service = service
        self._store = store

    async def answer(self, body: bytes) -> HttpResponse:
        """The answer to one request body.

        Raises:
            ToolglotError: the request cannot be served, or generation failed before the first byte.
        """
        request = await decoded(body, reading.read)
        conversation, ask = await self._asked(request, len(body), reading.ask)
        try:
            generation = await self._generation(request, ask)
        except ToolglotError as error:
            raise in_own_words(error) from error
        writer = ResponseWriter(self._response(request, generation), self._shown(request, generation))
        written = self._written(writer, generation, conversation)
        if request.stream:
            return await EventStream.open(_encoded(written), lambda error: encode_events(writer.failure(error)))
        async with aclosing(written):
            async for _ in written:
                pass
        return json_response(writer.response)

    async def count(self, body: bytes) -> HttpResponse:
        """The answer to one request to count the tokens of a prompt, whether or not a reply could be made.

        Raises:
            ToolglotError: the request cannot be served.
        """
        request = await decoded(body, reading.read_count)
        if request.model is not None:
            self._service.models.check(request.model)
        _, ask = await self._asked(request, len(body), reading.prompt_ask)
        try:
            prepared = await self._service.prepared(ask)
        except ToolglotError as error:
            raise in_own_words(error) from error
        return json_response(InputTokens(len(prepared.prompt)))

    async def _written(
        self, writer: ResponseWriter, generation: Generation, conversation: Conversation
    ) -> AsyncGenerator[list[StreamEvent], None]:
        async with aclosing(generation.events()) as steps:
            async for events in steps:
                yield writer.step(events, generation.completion_tokens)
        last = writer.closing(generation)
        self._keep(writer.response, conversation)  # first: a client may come back as soon as it has the last event
        yield last

    async def _asked(self, request: R, size: int, ask: Callable[[R, Sequence[Item]], Ask]) -> tuple[Conversation, Ask]:
        """The conversation and what ``ask`` makes of it; ``size`` is that of the request's body."""
        stored = self._earlier(request.previous_response_id)

        def read() -> tuple[Conversation, Ask]:
            conversation = self._conversation(request, stored)
            try:
                return conversation, ask(request, conversation.items)
            except ToolglotError as error:
                raise in_own_words(error) from error

        return await off_loop(size + sum(item.size for item in stored), read)

    def _conversation(self, request: InputTokensRequest, stored: tuple[StoredItem, ...]) -> Conversation:
        earlier = [decode(item.body) for item in stored]
        new = read_items(request.input or [], self._store.item)
        reading.check_results(new, earlier)
        return Conversation(stored, new, [*earlier, *new])

    def _earlier(self, response_id: str | None) -> tuple[StoredItem, ...]:
        if response_id is None:
            return ()
        previous = self._store.get(response_id)
        if previous is None:
            message = f"there is no response {response_id[:80]!r} here, or no longer; send the whole conversation"
            raise ApiError(400, message, param="previous_response_id", code="previous_response_not_found")
        return previous.items

    async def _generation(self, request: ResponsesRequest, ask: Ask) -> Generation:
        try:
            return await self._service.generation(ask)
        except ApiError as error:
            can_help = request.truncation == "auto" and error.code == TOO_LONG
            found = await self._shortened(ask) if can_help else None
            if found is None:
                raise
            return found

    async def _shortened(self, ask: Ask) -> Generation | None:
        """The reply to as much of the end of the conversation as there is room for; None: not even to the last."""
        places = beginnings(ask.messages)
        low, high, found = 0, len(places), None
        while low < high:
            middle = (low + high) // 2
            try:
                messages = without_oldest(ask.messages, places[middle])
                found = await self._service.generation(replace(ask, messages=messages))
                high = middle
            except ApiError as error:
                if error.code != TOO_LONG:
                    raise
                low = middle + 1
        return found

    def _response(self, request: ResponsesRequest, generation: Generation) -> Response:
        reasoning = request.reasoning
        return Response(
            id=new_id("resp"),
            created_at=int(time.time()),
            instructions=request.instructions,
            max_output_tokens=request.max_output_tokens,
            max_tool_calls=request.max_tool_calls,
            model=request.model,
            parallel_tool_calls=request.parallel_tool_calls is not False,
            previous_response_id=request.previous_response_id,
            prompt_cache_key=request.prompt_cache_key,
            reasoning=EchoedReasoning() if reasoning is None else EchoedReasoning(reasoning.effort, reasoning.summary),
            safety_identifier=request.safety_identifier,
            store=request.store is not False and self._store.enabled,
            temperature=1.0 if request.temperature is None else request.temperature,
            text=reading.echoed_text(request),
            tool_choice="auto" if request.tool_choice is None else request.tool_choice,
            top_logprobs=request.top_logprobs or 0,
            tools=tuple(_echoed(tool, generation) for tool in request.tools or ()),
            top_p=1.0 if request.top_p is None else request.top_p,
            truncation=request.truncation or "disabled",
            user=request.user,
            metadata=request.metadata or {},
        )

    def _shown(self, request: ResponsesRequest, generation: Generation) -> Shown:
        texts = self._service.generator.token_texts

        def tell(length: int) -> tuple[TokenLogprob, ...]:
            return logprobs(generation.content_tokens(length), texts).content

        return Shown(
            sealed_reasoning=request.includes(ENCRYPTED_REASONING),
            extensions=self._service.config.extensions,
            logprobs=tell if request.includes(LOGPROBS) else no_logprobs,
        )

    def _keep(self, response: Response, conversation: Conversation) -> None:
        if response.store:
            said = tuple(StoredItem(item.id, encode_json(item)) for item in response.output)
            made_of = (*conversation.earlier, *(_stored(item) for item in conversation.new))
            self._store.add(StoredResponse(response.id, encode_json(response), made_of, said))


def _echoed(tool: FunctionTool, generation: Generation) -> EchoedTool:
    """The tool as it is offered: one that does not say whether it is strict is, if the reply is held to all of it."""
    name = str(tool.name)
    strict = generation.holds_all_of(name) if tool.strict is None else tool.strict
    return EchoedTool(name, tool.description, tool.parameters, strict)


async def _encoded(written: AsyncGenerator[list[StreamEvent], None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(written):
        async for events in written:
            yield encode_events(events)


def _stored(item: Item) -> StoredItem:
    item_id = new_item_id(item)
    return StoredItem(item_id, listed(item, item_id))
