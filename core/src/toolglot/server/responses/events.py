"""The typed events of a streamed response, as OpenAI sends them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from toolglot.server.chat.protocol import TokenLogprob
from toolglot.server.encoding import encode_json
from toolglot.server.responses.protocol import OutputItem, OutputText, ReasoningText, Response


class StreamEvent(Struct, kw_only=True, tag_field="type"):
    """What all of them have: a number that counts up from 0, given when the event is sent."""

    sequence_number: int = 0


class Created(StreamEvent, tag="response.created"):
    response: Response


class InProgress(StreamEvent, tag="response.in_progress"):
    response: Response


class Completed(StreamEvent, tag="response.completed"):
    response: Response


class Incomplete(StreamEvent, tag="response.incomplete"):
    response: Response


class Failed(StreamEvent, tag="response.failed"):
    response: Response


class Error(StreamEvent, tag="error"):
    code: str | None
    message: str
    param: str | None


class ItemAdded(StreamEvent, tag="response.output_item.added"):
    output_index: int
    item: OutputItem


class ItemDone(StreamEvent, tag="response.output_item.done"):
    output_index: int
    item: OutputItem


Part: TypeAlias = OutputText | ReasoningText


class PartAdded(StreamEvent, tag="response.content_part.added"):
    item_id: str
    output_index: int
    part: Part
    content_index: int = 0


class PartDone(StreamEvent, tag="response.content_part.done"):
    item_id: str
    output_index: int
    part: Part
    content_index: int = 0


class TextDelta(StreamEvent, tag="response.output_text.delta"):
    item_id: str
    output_index: int
    delta: str
    logprobs: tuple[TokenLogprob, ...]
    content_index: int = 0


class TextDone(StreamEvent, tag="response.output_text.done"):
    item_id: str
    output_index: int
    text: str
    logprobs: tuple[TokenLogprob, ...]
    content_index: int = 0


class ReasoningTextDelta(StreamEvent, tag="response.reasoning_text.delta"):
    item_id: str
    output_index: int
    delta: str
    content_index: int = 0


class ReasoningTextDone(StreamEvent, tag="response.reasoning_text.done"):
    item_id: str
    output_index: int
    text: str
    content_index: int = 0


class CallArgumentsDelta(StreamEvent, tag="response.function_call_arguments.delta"):
    item_id: str
    output_index: int
    delta: str


class CallArgumentsDone(StreamEvent, tag="response.function_call_arguments.done"):
    item_id: str
    output_index: int
    name: str
    arguments: str


def encode_events(events: Iterable[StreamEvent]) -> bytes:
    """Server-sent events, each under the name of its type."""
    return b"".join(b"event: %b\ndata: %b\n\n" % (_name(event), encode_json(event)) for event in events)


def _name(event: StreamEvent) -> bytes:
    return str(event.__struct_config__.tag).encode()
