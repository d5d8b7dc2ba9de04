"""Chat completions, whole or in chunks: what is read of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from toolglot.bench.results import ReplyCall


class Function(Struct, frozen=True):
    """A call's name and arguments, or pieces of them."""

    name: str | None = None
    arguments: str | None = None


class ToolCall(Struct, frozen=True):
    """A call, or a piece of the one with this index."""

    function: Function
    index: int | None = None


class Part(Struct, frozen=True):
    """A message, or a piece of one."""

    tool_calls: tuple[ToolCall, ...] | None = None


class Choice(Struct, frozen=True):
    """A choice, or a piece of it."""

    finish_reason: str | None = None
    message: Part = Part()
    delta: Part = Part()


class Reply(Struct, frozen=True):
    """A chat completion, or a chunk of one. ``error`` is what a server says in the middle of a stream."""

    choices: tuple[Choice, ...] = ()
    error: Any = None


def decode(text: str | bytes) -> Reply:
    """Read a completion, or a chunk.

    Raises:
        msgspec.DecodeError: it is neither.
    """
    return msgspec.json.decode(text, type=Reply)


def added_up(replies: Iterable[Reply]) -> tuple[str | None, tuple[ReplyCall, ...]]:
    """The finish reason and the calls of one completion, or of all its chunks."""
    reason: str | None = None
    calls: dict[int, list[Function]] = {}
    for choice in (choice for reply in replies for choice in reply.choices):
        reason = choice.finish_reason or reason
        for number, call in enumerate(choice.message.tool_calls or choice.delta.tool_calls or ()):
            calls.setdefault(number if call.index is None else call.index, []).append(call.function)
    return reason, tuple(_call(calls[number]) for number in sorted(calls))


def _call(pieces: list[Function]) -> ReplyCall:
    name = "".join(piece.name or "" for piece in pieces)
    return ReplyCall(name, "".join(piece.arguments or "" for piece in pieces))
