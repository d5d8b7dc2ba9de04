"""What became of each request, and what that says of the server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from toolglot.errors import ToolglotError
from toolglot.requests import Tool

TOOL_CALLS = "tool_calls"
"""The finish reason of a reply with calls."""


class ReplyCall(Struct, frozen=True):
    """A call as a client gets it."""

    name: str
    arguments: str


class Result(Struct, frozen=True, kw_only=True):
    """What became of one request."""

    id: str
    finish_reason: str | None = None
    calls: tuple[ReplyCall, ...] = ()
    violation: str | None = None
    """What is wrong with the first bad call, where the reply ended in calls."""
    error: str | None = None
    """Why there was no reply."""
    seconds: float = 0.0

    @property
    def called(self) -> bool:
        """Whether the reply ended in calls."""
        return self.finish_reason == TOOL_CALLS


class Figures(Struct, frozen=True, kw_only=True):
    """What a run says. Shares are from 0 to 1, and None where nothing was there to count."""

    requests: int
    errors: int
    finish_reasons: Mapping[str, int]
    calls: int
    valid: int
    """Replies that ended in calls of which all are valid."""
    schema_accuracy: float | None
    trigger_similarity: float | None = None
    """F1 of the finish reasons against those of a reference run: of those that ended in calls there, and here."""


def violation(tools: Iterable[Tool], calls: Sequence[ReplyCall]) -> str | None:
    """What is wrong with the first bad call: it names no offered tool, has no JSON arguments, or they do not validate;
    None where all are valid.
    """
    offered = {tool.name: tool for tool in tools}
    for call in calls:
        if found := _violation(offered, call):
            return found
    return None if calls else "the reply ended in calls, but has none"


def _violation(offered: Mapping[str, Tool], call: ReplyCall) -> str | None:
    import jsonschema_rs

    if call.name not in offered:
        return f"no tool is named {call.name!r}"
    try:
        value = json.loads(call.arguments)
    except ValueError as error:
        return f"the arguments of {call.name} are no JSON: {error}"
    validator = jsonschema_rs.validator_for(_schema(offered[call.name]), validate_formats=True)
    found = next(iter(validator.iter_errors(value)), None)
    return None if found is None else f"the arguments of {call.name} are not valid: {found.message}"


def _schema(tool: Tool) -> Any:
    return {"type": "object"} if tool.parameters is None else tool.parameters


def figures(results: Sequence[Result], reference: Sequence[Result] | None = None) -> Figures:
    """Count up a run, and compare it with a reference run where there is one."""
    called = [one for one in results if one.called]
    valid = sum(one.violation is None for one in called)
    reasons = [one.finish_reason or "none" for one in results if one.error is None]
    return Figures(
        requests=len(results),
        errors=sum(one.error is not None for one in results),
        finish_reasons={reason: reasons.count(reason) for reason in sorted(set(reasons))},
        calls=len(called),
        valid=valid,
        schema_accuracy=valid / len(called) if called else None,
        trigger_similarity=None if reference is None else _f1(results, reference),
    )


def _f1(results: Sequence[Result], reference: Sequence[Result]) -> float | None:
    """Of the requests that both runs hold."""
    theirs = {one.id: one.called for one in reference}
    pairs = [(one.called, theirs[one.id]) for one in results if one.id in theirs]
    both = sum(ours and other for ours, other in pairs)
    either = sum(ours + other for ours, other in pairs)
    return 2 * both / either if either else None


def read(path: Path) -> list[Result]:
    """The results in a file, one a line; of several of one id the last.

    Raises:
        ToolglotError: a line is no result.
    """
    found: dict[str, Result] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            result = msgspec.json.decode(line, type=Result)
        except msgspec.DecodeError as error:
            raise ToolglotError(f"{path}:{number}: no result of a run: {error}") from error
        found[result.id] = result
    return list(found.values())
