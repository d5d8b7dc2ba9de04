"""What a reply says of itself beyond its API: how its calls ended, and what it was not held to."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from toolglot.events import Outcome, Repair


class CallNote(Struct, frozen=True):
    """How one call ended."""

    outcome: Outcome
    repairs: tuple[Repair, ...]
    validated: bool | UnsetType = UNSET
    """False when the call seems well, but could not be checked, as no validator takes its tool's schema."""


class Relaxed(Struct, frozen=True):
    """A keyword that the reply was not held to: ``path`` is its JSON pointer in the schema of the tool, or of the
    response format, that is named.
    """

    path: str
    keyword: str
    reason: str
    tool: str | UnsetType = UNSET
    response_format: str | UnsetType = UNSET


NotEnforced: TypeAlias = Literal["not_enforced"] | UnsetType
"""Something that was asked for, and that no grammar held the model to."""


class Extension(Struct, frozen=True):
    """The choice-level member ``toolglot``, on a reply that has calls or was not held to all that was asked for."""

    calls: tuple[CallNote, ...]
    parallel_tool_calls: NotEnforced = UNSET
    """Set when ``parallel_tool_calls`` was false, and the model made several calls."""
    tool_choice: NotEnforced = UNSET
    """Set when a call was demanded, and the model made none."""
    strict: NotEnforced = UNSET
    """Set when calls were to be held to a grammar (by ``strict``, ``tool_choice`` or the server's level)."""
    response_format: NotEnforced = UNSET
    """Set when the content was to be JSON."""
    relaxed: tuple[Relaxed, ...] | UnsetType = UNSET
