"""Leaving out calls that the token limit cut, for clients that cannot take partial JSON."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from toolglot.events import ArgumentsDelta, CallEnd, CallStart, Event, Message


class WholeCalls:
    """Holds each call's events until it ends; a truncated call, which can only be the last one, is left out."""

    def __init__(self) -> None:
        self._held: list[Event] = []

    def only(self, events: Sequence[Event]) -> list[Event]:
        """What of ``events``, and of those that were held, may go on."""
        passed: list[Event] = []
        for event in events:
            if isinstance(event, CallStart | ArgumentsDelta):
                self._held.append(event)
            elif not isinstance(event, CallEnd):
                passed.append(event)
            else:
                passed += [] if event.outcome == "truncated" else [*self._held, event]
                self._held.clear()
        return passed


def without_truncated(message: Message) -> Message:
    """The message without a truncated call."""
    return replace(message, tool_calls=tuple(call for call in message.tool_calls if call.outcome != "truncated"))
