"""``/v1/toolglot/parse`` as types."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from toolglot.events import Event, Message
from toolglot.server.chat.protocol import ToolSpec

Count: TypeAlias = Annotated[int, Meta(ge=1)]


class ParseRequest(Struct, frozen=True, kw_only=True):
    """The body: an output, and the context in which it is read. ``null`` means the same as leaving a field out."""

    text: str | None = None
    """The raw output, without the token that ended it. Give this or ``token_ids``."""
    token_ids: list[Annotated[int, Meta(ge=0)]] | None = None
    """The same as tokens of the served model."""
    tools: list[ToolSpec] | None = None
    """The tools that were offered; left out, every name that the output calls counts as one."""
    tool_choice: Any = None
    """As in Chat Completions."""
    finish_reason: Literal["stop", "length"] | None = None
    """Why the output ended; ``stop`` if it is left out."""
    chunks: Count | Annotated[list[Count], Meta(min_length=1)] | None = None
    """How many characters, or tokens, are read at a time; of several numbers, the last holds for the rest. Left out:
    all at once."""
    reasoning_open: bool | None = None
    """Whether the prompt had opened the reasoning."""
    earlier_calls: Annotated[int, Meta(ge=0)] | None = None
    """How many calls the conversation held already; some formats count their ids on."""
    constrained: bool | None = None
    """Whether the output was written under the parser's grammar: it is then read exactly, without leniency."""


class Step(Struct, frozen=True):
    """What was read at once, and what is known from then on."""

    text: str
    events: tuple[Event, ...]
    token_ids: tuple[int, ...] | UnsetType = UNSET


class ParseAnswer(Struct, frozen=True):
    """The message, whose calls have their outcomes, and how it came about. The last step of the trace is the end."""

    parser: str
    message: Message
    trace: tuple[Step, ...]
    object: Literal["toolglot.parse"] = "toolglot.parse"
