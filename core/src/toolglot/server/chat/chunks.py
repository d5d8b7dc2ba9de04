"""Events as the chunks of a streamed reply: server-sent events in OpenAI's form."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, Struct

from toolglot.events import ArgumentsDelta, CallStart, ContentDelta, Event, ReasoningDelta
from toolglot.server.chat.protocol import Chunk, ChunkChoice, FunctionDelta, ReplyDelta, ToolCallDelta
from toolglot.server.chat.reply import Reply, finish_reason, usage
from toolglot.server.encoding import encode_json
from toolglot.server.generation import Generation

DONE = b"data: [DONE]\n\n"


class ChunkWriter:
    """Writes one reply: :meth:`opening`, then :meth:`deltas` for each step, then :meth:`closing`."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def opening(self) -> bytes:
        """The chunk that says who speaks."""
        return self._choice(ChunkChoice(ReplyDelta(role="assistant", content="")))

    def deltas(self, events: Iterable[Event]) -> bytes:
        """One chunk for each event that a client is told of, so that no chunk names a call twice."""
        deltas = (self._delta(event) for event in events)
        return b"".join(self._choice(ChunkChoice(delta)) for delta in deltas if delta is not None)

    def closing(self, generation: Generation) -> bytes:
        """The chunk that says why the reply ended, the usage if it was asked for, and the end of the stream."""
        calls = generation.message.tool_calls
        reason = finish_reason(generation.finish, len(calls))
        last = self._choice(ChunkChoice(ReplyDelta(), reason, self._reply.extension(generation)))
        return last + self._usage(generation) + DONE

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

    def _choice(self, choice: ChunkChoice) -> bytes:
        reply = self._reply
        usage_to_come = None if reply.include_usage else UNSET
        return event_bytes(Chunk(reply.id, reply.created, reply.model, (choice,), usage_to_come))

    def _usage(self, generation: Generation) -> bytes:
        reply = self._reply
        if not reply.include_usage:
            return b""
        return event_bytes(Chunk(reply.id, reply.created, reply.model, (), usage(generation)))


def event_bytes(value: Struct) -> bytes:
    """A server-sent event that carries ``value`` as JSON."""
    return b"data: " + encode_json(value) + b"\n\n"


def _call(delta: ToolCallDelta) -> ReplyDelta:
    return ReplyDelta(tool_calls=(delta,))
