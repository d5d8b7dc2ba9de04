"""Reading an output in pieces, and checking what every sequence of events must keep."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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


def in_every_split(parser: Parser, text: str, *, finish_reason: Finish = "stop", **context: Any) -> Message:
    """The message that ``text`` means, after checking that it is the same for pieces of every size up to 7 and for
    every split in two. ``context`` is as for ``Parser.parse``.
    """
    whole = parser.parse(text, finish_reason=finish_reason, **context)
    cuts = [[text[at : at + size] for at in range(0, len(text), size)] for size in range(1, 8)]
    cuts += [[text[:at], text[at:]] for at in range(len(text))]
    for pieces in cuts:
        reader = parser.stream(**context)
        for piece in pieces:
            reader.feed(piece)
        reader.finish(finish_reason)
        assert without_ids(reader.message) == without_ids(whole), pieces
    return whole


def check(events: Sequence[Event]) -> None:
    """What events keep: no delta is empty; each call begins, gets its arguments and ends, one after the other."""
    calls = 0
    current: int | None = None
    for event in events:
        match event:
            case ContentDelta(text) | ReasoningDelta(text):
                assert text, f"empty {event!r}"
                assert current is None, f"{event!r} inside a call: {events}"
            case CallStart(index, number, name):
                assert (current, index) == (None, calls), f"{event!r} out of place: {events}"
                assert number, f"{event!r} has no id"
                assert name, f"{event!r} has no name"
                calls, current = calls + 1, index
            case ArgumentsDelta(index, text):
                assert text, f"empty {event!r}"
                assert current == index, f"{event!r} outside its call: {events}"
            case CallEnd(index):
                assert current == index, f"{event!r} outside its call: {events}"
                current = None
    assert current is None, f"a call has no end: {events}"


def merged(events: Iterable[Event]) -> list[Event]:
    """The events with neighbouring deltas of one kind joined, and without ids: the same for every chunking."""
    result: list[Event] = []
    for event in events:
        joined = _joined(result[-1], event) if result else None
        if joined is not None:
            result[-1] = joined
        else:
            result.append(replace(event, id="") if isinstance(event, CallStart) else event)
    return result


def _joined(first: Event, second: Event) -> Event | None:
    """Two deltas as one, if they are of one kind."""
    match first, second:
        case ContentDelta(before, unparsed), ContentDelta(after, same) if unparsed == same:
            return ContentDelta(before + after, unparsed)
        case ReasoningDelta(before), ReasoningDelta(after):
            return ReasoningDelta(before + after)
        case ArgumentsDelta(index, before), ArgumentsDelta(_, after):
            return ArgumentsDelta(index, before + after)
    return None


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
