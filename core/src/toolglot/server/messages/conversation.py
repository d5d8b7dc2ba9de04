"""A conversation in Anthropic's content blocks, brought into the form that chat templates take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from msgspec.structs import replace

from toolglot.errors import RequestError
from toolglot.prompts import read_messages
from toolglot.server.decoding import convert
from toolglot.server.encoding import encode_json
from toolglot.server.messages.protocol import (
    BlockParam,
    MessageParam,
    RedactedThinkingParam,
    TextParam,
    ThinkingParam,
    ToolResultParam,
    ToolUseParam,
)

T = TypeVar("T")

_BLOCKS: Mapping[str, Mapping[str, type[BlockParam]]] = {
    "system": {"text": TextParam},
    "user": {"text": TextParam, "tool_result": ToolResultParam},
    "assistant": {
        "text": TextParam,
        "thinking": ThinkingParam,
        "redacted_thinking": RedactedThinkingParam,
        "tool_use": ToolUseParam,
    },
}
"""What each role's messages may hold."""
_RESULT = {"text": TextParam}


def conversation(
    system: str | Sequence[Mapping[str, Any]] | None, messages: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], ...]:
    """The conversation as :func:`~toolglot.prompts.read_messages` returns it.

    Messages of one role that follow each other are one. Results become tool messages, and text beside them user
    messages, in their order.

    Raises:
        RequestError: a message or block is not as it must be; ``param`` is the path to it.
    """
    turns = [_turn(message, f"messages[{number}]") for number, message in enumerate(messages)]
    if system:
        turns.insert(0, ("system", _blocks(system, _BLOCKS["system"], "system")))
    return read_messages(
        [
            message
            for role, run in groupby(turns, key=itemgetter(0))
            for message in _WRITERS[role]([block for _, blocks in run for block in blocks])
        ]
    )


def convert_at(value: Any, kind: type[T], at: str) -> T:
    """``value``, which is at this field of the request, as a ``kind``.

    Raises:
        RequestError: it is none; ``param`` is the path to the fault.
    """
    try:
        return convert(value, kind)
    except RequestError as error:
        raise RequestError(f"{at}: {error}", param=f"{at}.{error.param}" if error.param else at) from error


def _turn(value: Mapping[str, Any], at: str) -> tuple[str, list[BlockParam]]:
    message = convert_at(value, MessageParam, at)
    return message.role, _blocks(message.content, _BLOCKS[message.role], f"{at}.content")


def _blocks(
    content: str | Sequence[Mapping[str, Any]], kinds: Mapping[str, type[BlockParam]], at: str
) -> list[BlockParam]:
    if isinstance(content, str):
        return [TextParam(content)]
    return [_block(value, kinds, f"{at}[{number}]") for number, value in enumerate(content)]


def _block(value: Mapping[str, Any], kinds: Mapping[str, type[BlockParam]], at: str) -> BlockParam:
    name = value.get("type")
    if not isinstance(name, str) or name not in kinds:
        message = f"a block of type {name!r} cannot be served at `{at}`; use {' or '.join(kinds)}"
        raise RequestError(message, param=f"{at}.type")
    block = convert_at(value, kinds[name], at)
    if isinstance(block, ToolResultParam):
        return replace(block, content=_text(_blocks(block.content or (), _RESULT, f"{at}.content")))
    return block


def _system(blocks: Sequence[BlockParam]) -> list[dict[str, Any]]:
    return [{"role": "system", "content": _text(blocks)}]


def _user(blocks: Sequence[BlockParam]) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    for kind, run in groupby(blocks, key=type):
        if kind is TextParam:
            written.append({"role": "user", "content": _text(run)})
        else:
            written += [_result(block) for block in run if isinstance(block, ToolResultParam)]
    return written


def _result(block: ToolResultParam) -> dict[str, Any]:
    text = str(block.content)
    if block.is_error and not text.lower().startswith("error"):
        text = f"Error: {text}" if text else "Error"
    return {"role": "tool", "tool_call_id": block.tool_use_id, "content": text}


def _assistant(blocks: Sequence[BlockParam]) -> list[dict[str, Any]]:
    calls = [_call(block) for block in blocks if isinstance(block, ToolUseParam)]
    reasoning = "\n".join(block.thinking for block in blocks if isinstance(block, ThinkingParam))
    return [
        {
            "role": "assistant",
            "content": _text(blocks) or (None if calls else ""),
            **({"tool_calls": calls} if calls else {}),
            **({"reasoning_content": reasoning} if reasoning else {}),
        }
    ]


def _call(block: ToolUseParam) -> dict[str, Any]:
    return {
        "id": block.id,
        "type": "function",
        "function": {"name": block.name, "arguments": _arguments(block.input)},
    }


def _arguments(value: Any) -> Any:
    """An object as it is, and anything else as text, which need not be JSON: the template shows it as it was."""
    return value if value is None or isinstance(value, str | Mapping) else encode_json(value).decode()


def _text(blocks: Iterable[BlockParam]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, TextParam))


_WRITERS: Mapping[str, Callable[[Sequence[BlockParam]], list[dict[str, Any]]]] = {
    "system": _system,
    "user": _user,
    "assistant": _assistant,
}
