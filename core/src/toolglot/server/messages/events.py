"""A streamed reply: server-sent events in Anthropic's form."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from toolglot.events import Event
from toolglot.server.encoding import encode_json
from toolglot.server.errors import ApiError
from toolglot.server.generation import Generation
from toolglot.server.messages.blocks import BlockCutter
from toolglot.server.messages.errors import error_body
from toolglot.server.messages.protocol import BlockEvent, MessageDelta, MessageStart, MessageStop, Ping
from toolglot.server.messages.reply import Reply, usage


class EventWriter:
    """Writes one reply: :meth:`opening`, then :meth:`blocks` for each step, then :meth:`closing`."""

    def __init__(self, reply: Reply, generation: Generation) -> None:
        self._reply = reply
        self._generation = generation
        self._cutter = BlockCutter(show_thinking=reply.show_thinking)

    def opening(self) -> bytes:
        """The events before the first block."""
        return event_bytes(MessageStart(self._reply.begun(self._generation))) + PING

    def blocks(self, events: Iterable[Event]) -> bytes:
        """What the client is told of ``events``."""
        return b"".join(event_bytes(one) for event in events for one in self._cutter.cut(event))

    def closing(self) -> bytes:
        """The events after the last block's content."""
        reply, generation = self._reply, self._generation
        last = MessageDelta(reply.stop(generation), usage(generation), reply.extension(generation))
        ends: list[BlockEvent | MessageDelta | MessageStop] = [*self._cutter.close(), last, MessageStop()]
        return b"".join(map(event_bytes, ends))


def event_bytes(value: Struct) -> bytes:
    """A server-sent event, named as the type of ``value``, that carries it as JSON."""
    name = str(value.__struct_config__.tag)
    return b"event: " + name.encode() + b"\ndata: " + encode_json(value) + b"\n\n"


PING = event_bytes(Ping())
"""What clients are sent where there is nothing to say."""


def error_event(error: ApiError, request_id: str | None) -> bytes:
    """The event that ends a stream early."""
    return event_bytes(error_body(error, request_id))
