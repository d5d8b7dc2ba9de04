"""Serving without a parser: a reply is content and nothing else."""

# ruff: noqa: ARG002  (the methods have the parameters of the parser's)

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from toolglot.events import ContentDelta, Event, Finish, Message
from toolglot.requests import Output, Request


class PlainStream:
    """Reads one reply as content."""

    def feed(self, text: str, token_ids: Sequence[int] = (), marks: Sequence[tuple[int, int]] = ()) -> list[Event]:
        return [ContentDelta(text)] if text else []

    def finish(self, finish_reason: Finish = "stop") -> list[Event]:
        return []


class PlainText:
    """Takes the parser's place where none is configured: no tools, no reasoning, no grammar."""

    marker_ids: frozenset[int] = frozenset()

    def adjust(self, request: Request) -> Request:
        return request

    def constrain(self, request: Request) -> None:
        return None

    def start(self, request: Request) -> PlainStream:
        return PlainStream()

    def read(self, output: Output, request: Request) -> Message:
        return Message(content=output.text or None)

    def prompt_reasoning(self, prompt: str) -> Literal["absent"]:
        return "absent"

    def reasons_in(self, text: str) -> bool:
        return False
