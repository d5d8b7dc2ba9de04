"""What a parser says while it reads, and what all of it adds up to: frozen values."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Outcome: TypeAlias = Literal["ok", "schema_violation", "unknown_tool", "malformed", "truncated"]
"""How a call ended. The first that holds of: ``truncated`` (generation was cut inside the call), ``malformed`` (its
text breaks the format), ``unknown_tool`` (the name was not offered), ``schema_violation`` (the arguments do not
validate), ``ok``."""

Repair: TypeAlias = Literal[
    "missing_closer",  # the call's closing marker, or the last brace of its envelope, was left out
    "missing_opener",  # the marker between an argument's key and its value was left out
    "extra_braces",  # more closing braces than were opened
    "string_arguments",  # the arguments were a JSON string that holds the object
    "missing_arguments",  # a call without arguments; `{}` was supplied
    "null_arguments",  # `null` was written for `{}`
    "unescaped_quotes",  # a quote inside a string, which cannot be its end
]
"""What was put right in a call: the closed list. Each has exactly one reading."""

Finish: TypeAlias = Literal["stop", "length", "abort"]
"""Why generation ended: the model stopped, the token limit cut it, or the request was cancelled."""


class ReasoningDelta(Struct, frozen=True, tag="reasoning"):
    """More reasoning text."""

    text: str


class ContentDelta(Struct, frozen=True, tag="content"):
    """More of the answer. ``unparsed``: this is the text of a call that could not be read."""

    text: str
    unparsed: bool = False


class CallStart(Struct, frozen=True, tag="call_start"):
    """A call is certain: it is never taken back. ``index`` counts the calls of this output from 0."""

    index: int
    id: str
    name: str


class ArgumentsDelta(Struct, frozen=True, tag="arguments"):
    """More of a call's arguments, as JSON text."""

    index: int
    text: str


class CallEnd(Struct, frozen=True, tag="call_end"):
    """A call is over. ``rest`` is text inside its frame that is neither name nor arguments."""

    index: int
    outcome: Outcome
    repairs: tuple[Repair, ...] = ()
    rest: str = ""


Event: TypeAlias = ReasoningDelta | ContentDelta | CallStart | ArgumentsDelta | CallEnd


class Call(Struct, frozen=True):
    """One tool call. ``arguments`` is JSON text, as the model wrote it."""

    id: str
    name: str
    arguments: str
    outcome: Outcome = "ok"
    repairs: tuple[Repair, ...] = ()
    rest: str = ""


class Message(Struct, frozen=True):
    """A model's whole output, read.

    ``unparsed``: the content holds text of a call that could not be read. ``validated``: every call of an offered tool
    was checked against its schema (needs the extra ``[validate]``).
    """

    reasoning: str | None = None
    content: str | None = None
    tool_calls: tuple[Call, ...] = ()
    unparsed: bool = False
    validated: bool = False


class MessageBuilder:
    """Adds events up to a :class:`Message`."""

    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._calls: list[tuple[CallStart, list[str]]] = []
        self._ends: list[CallEnd] = []
        self._unparsed = False
        self.validated = False

    def add(self, event: Event) -> None:
        match event:  # patterns that take fields out would cost three times as much, at every token
            case ArgumentsDelta():
                self._calls[event.index][1].append(event.text)
            case ContentDelta():
                self._content.append(event.text)
                self._unparsed |= event.unparsed
            case ReasoningDelta():
                self._reasoning.append(event.text)
            case CallStart():
                self._calls.append((event, []))
            case CallEnd():
                self._ends.append(event)

    def message(self) -> Message:
        """What the events so far add up to; a call that has not ended is ``truncated``."""
        return Message(
            reasoning="".join(self._reasoning) or None,
            content="".join(self._content) or None,
            tool_calls=tuple(self._call(number) for number in range(len(self._calls))),
            unparsed=self._unparsed,
            validated=self.validated,
        )

    def _call(self, number: int) -> Call:
        start, pieces = self._calls[number]
        ended = number < len(self._ends)
        end = self._ends[number] if ended else CallEnd(number, "truncated")
        return Call(start.id, start.name, "".join(pieces), end.outcome, end.repairs, end.rest)
