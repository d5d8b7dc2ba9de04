"""What a reply says of itself, in the choice-level member ``toolglot``."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from toolglot.events import Call
from toolglot.requests import Named, Request
from toolglot.server.extension import CallNote, Extension, NotEnforced, Relaxed
from toolglot.validation import Validator

NOTHING = Extension(())
"""There is nothing to say."""


def notes(request: Request, calls: Sequence[Call], relaxed: tuple[Relaxed, ...]) -> Extension:
    """What is to be said of a reply to ``request`` that has ended with these calls."""
    free = not request.constrained
    validator = Validator(request.tools)
    return Extension(
        tuple(_note(call, validator) for call in calls),
        parallel_tool_calls=_missed(free and not request.parallel_tool_calls and len(calls) > 1),
        tool_choice=_missed(free and request.call_demanded and not _has_demanded(request, calls)),
        strict=_missed(free and request.calls_enforced),
        response_format=_missed(free and request.content_schema is not None),
        relaxed=relaxed or UNSET,
    )


def not_enforced(said: Extension) -> bool:
    """Whether the reply was free where it should not have been."""
    return "not_enforced" in (said.parallel_tool_calls, said.tool_choice, said.strict, said.response_format)


def _note(call: Call, validator: Validator) -> CallNote:
    unchecked = call.outcome == "ok" and not validator.can_check(call.name)
    return CallNote(call.outcome, call.repairs, False if unchecked else UNSET)


def _has_demanded(request: Request, calls: Sequence[Call]) -> bool:
    choice = request.tool_choice
    return any(call.name == choice.name for call in calls) if isinstance(choice, Named) else bool(calls)


def _missed(missed: bool) -> NotEnforced:
    return "not_enforced" if missed else UNSET
