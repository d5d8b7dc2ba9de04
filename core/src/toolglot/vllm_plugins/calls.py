"""Calls as tool parsers of vLLM report them, in any order, as events: one call at a time, its name first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from toolglot.events import ArgumentsDelta, CallEnd, CallStart, ContentDelta, Event, Finish, Outcome
from toolglot.formats.json_text import decode
from toolglot.requests import Tool
from toolglot.validation import Validator
from toolglot.vllm_plugins.helpers import make_tool_call_id


class _Call(Struct):
    id: str | None = None
    name: str = ""
    arguments: str = ""
    number: int | None = None
    """Its place among the calls of the output, once it is begun."""
    sent: int = 0
    ended: bool = False


class CallWriter:
    """Writes the events of one output's calls; ``tools`` are those that were offered."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._validator = Validator(tools)
        self._calls: dict[int, _Call] = {}
        self._begun = 0

    @property
    def checked(self) -> bool:
        """Whether every call so far was checked against its schema."""
        return self._validator.checked

    def add(self, index: int, call_id: str | None, name: str | None, arguments: str | None) -> None:
        """Take what a parser says of its call ``index``.

        Raises:
            ValueError: the call is over.
        """
        call = self._calls.setdefault(index, _Call())
        if call.ended and arguments:
            raise ValueError(f"more arguments of call {index}, which is over: {arguments!r}")
        call.id, call.name = call.id or call_id, call.name or name or ""
        call.arguments += arguments or ""

    def complete(self, expected: Sequence[Any]) -> None:
        """Add to calls that are not whole what the parser has of their arguments (vLLM's ``prev_tool_call_arr``)."""
        for index, call in self._calls.items():
            known = expected[index] if 0 <= index < len(expected) else None
            value = known.get("arguments") if isinstance(known, dict) else None
            if value is None or call.ended or _is_whole(call.arguments):
                continue
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            if text.startswith(call.arguments):
                call.arguments = text

    def events(self, *, more: bool = False) -> list[Event]:
        """What is certain. A call whose arguments are whole is over when another or anything else (``more``) comes."""
        events: list[Event] = []
        waiting = [call for call in self._calls.values() if not call.ended]
        for place, call in enumerate(waiting):
            if not call.name:
                break
            events += self._written(call)
            followed = more or place + 1 < len(waiting)
            if not followed or not _is_whole(call.arguments):
                break
            events.append(self._end(call, "stop"))
        return events

    def finish(self, reason: Finish) -> list[Event]:
        """All that was not yet said. What is left of a call without a name is content."""
        events: list[Event] = []
        waiting = [call for call in self._calls.values() if not call.ended]
        for call in waiting:
            if call.name:
                events += [*self._written(call), self._end(call, reason if call is waiting[-1] else "stop")]
            elif call.arguments:
                events.append(ContentDelta(call.arguments, unparsed=True))
        return events

    def _written(self, call: _Call) -> list[Event]:
        events: list[Event] = []
        if call.number is None:
            call.number, self._begun = self._begun, self._begun + 1
            events.append(CallStart(call.number, call.id or make_tool_call_id(), call.name))
        if len(call.arguments) > call.sent:
            events.append(ArgumentsDelta(call.number, call.arguments[call.sent :]))
            call.sent = len(call.arguments)
        return events

    def _end(self, call: _Call, reason: Finish) -> CallEnd:
        assert call.number is not None
        call.ended = True
        return CallEnd(call.number, self._outcome(call, reason))

    def _outcome(self, call: _Call, reason: Finish) -> Outcome:
        if reason == "length" and not _is_whole(call.arguments):
            return "truncated"
        return self._validator.outcome(call.name, call.arguments)


def _is_whole(arguments: str) -> bool:
    try:
        decode(arguments)
    except ValueError:
        return False
    return True
