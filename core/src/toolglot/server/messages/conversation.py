"""A conversation in Anthropic's content blocks, brought into the form that chat templates take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from toolglot.prompts import read_messages
from toolglot.server.encoding import encode_json
from toolglot.server.messages.protocol import (
    BlockParam,
    MessageParam,
    OnlyTextParam,
    TextParam,
    ThinkingParam,
    ToolResultParam,
    ToolUseParam,
)


def conversation(
    system: str | Sequence[OnlyTextParam] | None, messages: Sequence[MessageParam]
) -> tuple[dict[str, Any], ...]:
    """The conversation as :func:`~toolglot.prompts.read_messages` returns it.

    Messages of one role that follow each other are one. Results become tool messages, and text beside them user
    messages, in their order.

    Raises:
        RequestError: there are no messages.
    """
    turns = [(str(message.__struct_config__.tag), _blocks(message.content)) for message in messages]
    if system:
        turns.insert(0, ("system", _blocks(system)))
    return read_messages(
        [
            message
            for role, run in groupby(turns, key=itemgetter(0))
            for message in _WRITERS[role]([block for _, blocks in run for block in blocks])
        ]
    )


def _blocks(content: str | Sequence[BlockParam] | None) -> Sequence[BlockParam]:
    return [TextParam(content)] if isinstance(content, str) else content or ()


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
    text = _text(_blocks(block.content))
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
    return "\n".join(block.text for block in blocks if isinstance(block, TextParam | OnlyTextParam))


_WRITERS: Mapping[str, Callable[[Sequence[BlockParam]], list[dict[str, Any]]]] = {
    "system": _system,
    "user": _user,
    "assistant": _assistant,
}
