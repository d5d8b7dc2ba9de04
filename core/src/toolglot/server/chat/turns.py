"""The turns of a conversation in Chat Completions form, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from toolglot.errors import RequestError
from toolglot.prompts import read_messages
from toolglot.server.decoding import convert

T = TypeVar("T")


class TextPart(Struct, frozen=True):
    """A part of a turn's content. ``type`` is no tag: where a struct stands alone, one may be left out."""

    type: Literal["text"]
    text: str


class SaidPart(Struct, frozen=True, tag_field="type", tag="text"):
    """A part of what an assistant said."""

    text: str


class RefusalPart(Struct, frozen=True, tag_field="type", tag="refusal"):
    """An assistant's refusal. No reply here has one; those in a conversation from elsewhere are read as text."""

    refusal: str


Content: TypeAlias = str | list[TextPart]


class CalledFunction(Struct, frozen=True):
    """The ``function`` of an earlier call. Its arguments are JSON text, or the object itself."""

    name: Annotated[str, Meta(min_length=1)]
    arguments: str | dict[str, Any] | None = None


class EarlierCall(Struct, frozen=True):
    """One of ``tool_calls``."""

    function: CalledFunction
    id: str | None = None
    type: Literal["function"] = "function"


class _Turn(Struct, frozen=True, kw_only=True, tag_field="role"):
    name: str | None = None


class SystemTurn(_Turn, frozen=True, kw_only=True, tag="system"):
    """Instructions."""

    content: Content


class DeveloperTurn(_Turn, frozen=True, kw_only=True, tag="developer"):
    """Instructions, under their newer name."""

    content: Content


class UserTurn(_Turn, frozen=True, kw_only=True, tag="user"):
    """What the user says."""

    content: Content


class ToolTurn(_Turn, frozen=True, kw_only=True, tag="tool"):
    """What a call came to."""

    content: Content
    tool_call_id: str


class AssistantTurn(_Turn, frozen=True, kw_only=True, tag="assistant"):
    """An earlier reply."""

    content: str | list[SaidPart | RefusalPart] | None = None
    refusal: str | None = None
    tool_calls: list[EarlierCall] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    function_call: None = None


Turn: TypeAlias = SystemTurn | DeveloperTurn | UserTurn | ToolTurn | AssistantTurn


def convert_with_turns(value: Mapping[str, Any], kind: type[T]) -> T:
    """A body, whose ``messages`` are turns, as a ``kind``.

    Raises:
        RequestError: it is none; ``param`` is the path to the fault.
    """
    try:
        return convert(value, kind)
    except RequestError:
        if isinstance(turns := value.get("messages"), list):
            read_messages(turns)  # says more, where they are the fault
        raise


def conversation(turns: Sequence[Turn]) -> tuple[dict[str, Any], ...]:
    """The turns as :func:`~toolglot.prompts.read_messages` returns them.

    Raises:
        RequestError: there are none.
    """
    return read_messages(msgspec.to_builtins(turns))
