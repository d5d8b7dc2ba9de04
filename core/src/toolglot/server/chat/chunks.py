"""Events as the chunks of a streamed answer: server-sent events in OpenAI's form."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, Struct, UnsetType

from toolglot.events import ArgumentsDelta, CallStart, ContentDelta, Event, ReasoningDelta
from toolglot.server.chat.protocol import Chunk, ChunkChoice, FunctionDelta, Logprobs, ReplyDelta, ToolCallDelta, Usage
from toolglot.server.chat.reply import Reply
from toolglot.server.encoding import encode_json
from toolglot.server.errors import ApiError, error_bytes

DONE = b"data: [DONE]\n\n"


class ChunkWriter:
    """Writes one choice: :meth:`opening`, then :meth:`deltas` for each step, then :meth:`closing`."""

    def __init__(self, reply: Reply, index: int) -> None:
        self._reply = reply
        self._index = index
        self._generation = reply.generations[index]
        self._told = 0  # tokens

    def opening(self) -> bytes:
        """The chunk that says who speaks; the first choice's has the tokens of the prompt."""
        prompt = self._reply.prompt_token_ids if self._index == 0 else UNSET
        return _chunk(self._reply, (ChunkChoice(self._index, ReplyDelta(role="assistant", content="")),), prompt)

    def deltas(self, events: Iterable[Event]) -> bytes:
        """One chunk for each event that a client is told of, so that no chunk names a call twice."""
        deltas = (self._delta(event) for event in events)
        return b"".join(self._choice(delta) for delta in deltas if delta is not None)

    def closing(self) -> bytes:
        """The chunk that says why the choice ended."""
        reply, generation = self._reply, self._generation
        choice = ChunkChoice(
            self._index,
            ReplyDelta(),
            reply.finish_reason(generation),
            reply.extension(generation),
            token_ids=self._token_ids(),
        )
        return _chunk(reply, (choice,))

    def _delta(self, event: Event) -> ReplyDelta | None:
        match event:
            case ContentDelta(text) if text:
                return ReplyDelta(content=text)
            case ReasoningDelta(text) if text and self._reply.include_reasoning:
                return ReplyDelta(reasoning_content=text, reasoning=text)
            case CallStart(index, call_id, name):
                return _call(ToolCallDelta(index, FunctionDelta("", name), call_id, "function"))
            case ArgumentsDelta(index, text) if text:
                return _call(ToolCallDelta(index, FunctionDelta(text)))
        return None

    def _choice(self, delta: ReplyDelta) -> bytes:
        choice = ChunkChoice(self._index, delta, logprobs=self._logprobs(delta), token_ids=self._token_ids())
        return _chunk(self._reply, (choice,))

    def _logprobs(self, delta: ReplyDelta) -> Logprobs | None:
        return None if delta.content is UNSET else self._reply.logprobs(self._generation, delta.content)

    def _token_ids(self) -> tuple[int, ...] | UnsetType:
        told, self._told = self._told, len(self._generation.token_ids)
        return self._reply.token_ids(self._generation, told)


def ending(reply: Reply) -> bytes:
    """What follows the last choice: the usage if it was asked for, and the end of the stream."""
    if not reply.include_usage:
        return DONE
    return event_bytes(Chunk(reply.id, reply.created, reply.model, (), reply.usage())) + DONE


def broken(error: ApiError) -> bytes:
    """The end of an answer that fails after it has begun."""
    return b"data: " + error_bytes(error) + b"\n\n" + DONE


def event_bytes(value: Struct) -> bytes:
    """A server-sent event that carries ``value`` as JSON."""
    return b"data: " + encode_json(value) + b"\n\n"


def _chunk(reply: Reply, choices: tuple[ChunkChoice, ...], prompt: tuple[int, ...] | UnsetType = UNSET) -> bytes:
    usage: Usage | UnsetType | None = None if reply.include_usage else UNSET
    if reply.continuous_usage:
        usage = reply.usage()
    return event_bytes(Chunk(reply.id, reply.created, reply.model, choices, usage, prompt))


def _call(delta: ToolCallDelta) -> ReplyDelta:
    return ReplyDelta(tool_calls=(delta,))
