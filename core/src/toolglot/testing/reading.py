"""Reading an output in pieces, and checking what every sequence of events must keep."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from toolglot.events import (
    ArgumentsDelta,
    CallEnd,
    CallStart,
    ContentDelta,
    Event,
    Finish,
    Message,
    MessageBuilder,
    ReasoningDelta,
)
from toolglot.parser import Parser
from toolglot.requests import Delta, Request


def stream(parser: Parser, request: Request, deltas: Iterable[Delta], finish: Finish) -> list[Event]:
    """The events of an output that arrives in ``deltas``; they are well formed, and add up to the stream's message."""
    reader = parser.start(request)
    events: list[Event] = []
    for delta in deltas:
        events += reader.feed(delta.text, delta.token_ids, delta.marks)
    events += reader.finish(finish)
    check(events)
    assert replace(reader.message, validated=False) == added_up(events)
    return events


def check(events: Sequence[Event]) -> None:
    """What every sequence of events keeps: no empty delta; each call begins, gets its arguments and ends, one after the other."""
    calls, open_call = 0, False
    for event in events:
        match event:
            case ContentDelta(text) | ReasoningDelta(text):
                assert text, f"empty {event!r}"
                assert not open_call, f"{event!r} inside a call: {events}"
            case CallStart(index, number, name):
                assert not open_call, f"{event!r} inside a call: {events}"
                assert index == calls, f"{event!r} should have the index {calls}: {events}"
                assert number, f"{event!r} has no id"
                assert name, f"{event!r} has no name"
                calls, open_call = calls + 1, True
            case ArgumentsDelta(index, text):
                assert text, f"empty {event!r}"
                assert open_call and index == calls - 1, f"{event!r} outside its call: {events}"
            case CallEnd(index):
                assert open_call and index == calls - 1, f"{event!r} outside its call: {events}"
                open_call = False
    assert not open_call, f"a call has no end: {events}"


def merged(events: Iterable[Event]) -> list[Event]:
    """The events with neighbouring deltas of one kind joined, and without ids: the same for every chunking."""
    result: list[Event] = []
    for event in events:
        last = result[-1] if result else None
        match last, event:
            case (ContentDelta(), ContentDelta()) if last.unparsed == event.unparsed:
                result[-1] = replace(last, text=last.text + event.text)
            case (ReasoningDelta(), ReasoningDelta()) | (ArgumentsDelta(), ArgumentsDelta()):
                result[-1] = replace(last, text=last.text + event.text)
            case (_, CallStart()):
                result.append(replace(event, id=""))
            case _:
                result.append(event)
    return result


def added_up(events: Iterable[Event]) -> Message:
    """The message that events add up to."""
    builder = MessageBuilder()
    for event in events:
        builder.add(event)
    return builder.message()


def without_ids(message: Message) -> Message:
    """A message without what may differ between two readings of one output."""
    return replace(message, tool_calls=tuple(replace(call, id="") for call in message.tool_calls), validated=False)


def delivered(events: Iterable[Event]) -> int:
    """How many characters of content, reasoning and arguments events hold."""
    return sum(len(event.text) for event in events if isinstance(event, ContentDelta | ReasoningDelta | ArgumentsDelta))


class _Raise(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError(f"the parser logged an error: {record.getMessage()}")


@contextmanager
def errors_raised() -> Iterator[None]:
    """Raise what a parser would only log: core turns a plugin's bug into content."""
    log, handler = logging.getLogger("toolglot"), _Raise(logging.ERROR)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
