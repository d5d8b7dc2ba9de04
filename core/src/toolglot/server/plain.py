"""Serving without a parser: a reply is content and nothing else."""

# ruff: noqa: ARG002  (the methods have the parameters of the parser's)

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from toolglot.events import ContentDelta, Event, Finish, Message
from toolglot.formats.json_grammar import json_value
from toolglot.requests import Output, Request
from toolglot.schemas import normalise
from toolglot.structural_tag import StructuralTag


class PlainStream:
    """Reads one reply as content."""

    def feed(self, text: str, token_ids: Sequence[int] = (), marks: Sequence[tuple[int, int]] = ()) -> list[Event]:
        return [ContentDelta(text)] if text else []

    def finish(self, finish_reason: Finish = "stop") -> list[Event]:
        return []


class PlainText:
    """Takes the parser's place where none is configured: no tools, no reasoning, no grammar but that of the content."""

    name = "none"
    marker_ids: frozenset[int] = frozenset()

    def adjust(self, request: Request) -> Request:
        return request

    def constrain(self, request: Request) -> StructuralTag | None:
        if request.content_schema is None:
            return None
        content = normalise(request.content_schema, arguments=False).normal
        return StructuralTag(json_value(content, any_order=request.any_property_order))

    def start(self, request: Request) -> PlainStream:
        return PlainStream()

    def read(self, output: Output, request: Request) -> Message:
        return Message(content=output.text or None)

    def prompt_reasoning(self, prompt: str) -> Literal["absent"]:
        return "absent"

    def reasons_in(self, text: str) -> bool:
        return False
