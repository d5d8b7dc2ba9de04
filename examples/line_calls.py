"""A plugin file with toolglot's hooks. Its model writes a call as a line of its own: ``!get_weather city=Oslo``."""

import json
import re
import uuid
from collections.abc import Sequence

from msgspec.structs import replace

from toolglot import (
    ArgumentsDelta,
    Call,
    CallEnd,
    CallStart,
    ContentDelta,
    Delta,
    Event,
    Message,
    Output,
    Request,
    State,
    hookimpl,
    register_parser,
)

CALL = re.compile(r"^!(\w+)((?: \w+=\S*)*)$\n?", re.MULTILINE)


def call_of(match: re.Match[str], finish: str | None) -> Call:
    """A call, and whether it is whole: a line that has not ended when the token limit is reached was cut."""
    arguments = dict(field.split("=", 1) for field in match[2].split())
    text = json.dumps(arguments, ensure_ascii=False)
    cut = finish == "length" and not match[0].endswith("\n")
    return Call(f"call_{uuid.uuid4().hex[:24]}", match[1], text, "truncated" if cut else "ok")


class Line:
    """What is remembered of one reply: the text of a line that may be a call, and how many calls there were."""

    def __init__(self) -> None:
        self.held = ""
        self.is_content = False
        self.calls = 0

    def read(self, piece: str) -> list[Event]:
        ends = piece.endswith("\n")
        if not self.is_content and (self.held + piece).startswith("!"):
            self.held += piece
            return self.end(None) if ends else []
        self.is_content = not ends
        return [ContentDelta(piece)]

    def end(self, finish: str | None) -> list[Event]:
        text, self.held = self.held, ""
        match = CALL.fullmatch(text)
        if match is None:
            return [ContentDelta(text)] if text else []
        call, number = call_of(match, finish), self.calls
        self.calls += 1
        return [
            CallStart(number, call.id, call.name),
            ArgumentsDelta(number, call.arguments),
            CallEnd(number, call.outcome),
        ]


@register_parser("line_calls")
class LineCalls:
    @hookimpl
    def adjust_request(self, request: Request) -> Request:
        return replace(request, skip_special_tokens=False)

    @hookimpl
    def extract_tool_calls(self, output: Output, request: Request) -> Message:
        if not request.calls_allowed:
            return Message(content=output.text or None)
        calls = tuple(call_of(match, output.finish) for match in CALL.finditer(output.text))
        return Message(content=CALL.sub("", output.text) or None, tool_calls=calls)

    @hookimpl
    def extract_tool_calls_streaming(self, delta: Delta, state: State, request: Request) -> Sequence[Event]:
        if not request.calls_allowed:
            return [ContentDelta(delta.text)] if delta.text else []
        line = state.of(self, Line)
        events = [event for piece in re.findall(r"[^\n]*\n|[^\n]+", delta.text) for event in line.read(piece)]
        return events + line.end(delta.finish) if delta.finish else events
