"""Blocks and tools of kinds that Anthropic's API has and this server does not: named, with those that there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from toolglot.errors import RequestError
from toolglot.server.messages.protocol import AssistantBlock, UserBlock

_TEXT = ("text",)


def _tags(union: Any) -> tuple[str, ...]:
    return tuple(str(kind.__struct_config__.tag) for kind in get_args(union))


_KINDS: Mapping[str, Sequence[str]] = {"system": _TEXT, "user": _tags(UserBlock), "assistant": _tags(AssistantBlock)}
"""What each role's messages may hold."""


def refuse_unserved_kinds(body: Mapping[str, Any]) -> None:
    """Look for blocks and tools of kinds that are not served, in a body that may be of any form.

    Raises:
        RequestError: there is one; ``param`` is the path to its type.
    """
    _refuse_blocks(body.get("system"), _TEXT, "system")
    for at, message in _objects(body.get("messages"), "messages"):
        role = message.get("role")
        if isinstance(role, str) and role in _KINDS:
            _refuse_blocks(message.get("content"), _KINDS[role], f"{at}.content")
    for at, tool in _objects(body.get("tools"), "tools"):
        if tool.get("type") not in (None, "custom"):
            own = "tools have a `name` and an `input_schema` of their own here"
            _refuse(f"the tool {_shown(tool)} cannot be served at `{at}`; {own}", at)


def _refuse_blocks(content: Any, kinds: Sequence[str], at: str) -> None:
    for place, block in _objects(content, at):
        if block.get("type") not in kinds:
            _refuse(f"a block of type {_shown(block)} cannot be served at `{place}`; use {' or '.join(kinds)}", place)
        if block["type"] == "tool_result":
            _refuse_blocks(block.get("content"), _TEXT, f"{place}.content")


def _objects(values: Any, at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects in a list, each with the path to it."""
    for number, value in enumerate(values if isinstance(values, list) else ()):
        if isinstance(value, dict):
            yield f"{at}[{number}]", value


def _shown(typed: Mapping[str, Any]) -> str:
    return repr(typed.get("type"))[:80]


def _refuse(message: str, at: str) -> None:
    raise RequestError(message, param=f"{at}.type")
