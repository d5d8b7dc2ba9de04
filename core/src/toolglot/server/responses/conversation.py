"""Items as the messages of a chat, which chat templates take; and what of a long conversation may be left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, TypeAlias

from toolglot.server.responses.items import Item, ItemCall, ItemCallOutput, ItemMessage, ItemReasoning, Part

Message: TypeAlias = Mapping[str, Any]
_SYSTEM = ("system", "developer")


def chat_messages(instructions: str | None, items: Iterable[Item]) -> list[dict[str, Any]]:
    """The conversation in Chat Completions form.

    What the model wrote in one turn (reasoning, text, calls) is one message. The instructions are one message with the
    system messages at the beginning, as many templates take one only.
    """
    turns = _Turns()
    for item in items:
        turns.add(item)
    if not instructions:
        return turns.messages
    opening = [_joined(message["content"]) for message in takewhile(_is_system, turns.messages)]
    system = {"role": "system", "content": "\n\n".join([instructions, *opening])}
    return [system, *turns.messages[len(opening) :]]


def beginnings(messages: Sequence[Message]) -> list[int]:
    """Where a conversation may begin that is too long, the first being the one that leaves out the least.

    The system messages at the beginning stay, and so does the last message; with a result its call.
    """
    after = _system(messages) + 1
    return [at for at in range(after, _last_turn(messages) + 1) if messages[at]["role"] != "tool"]


def without_oldest(messages: Sequence[Message], beginning: int) -> tuple[Message, ...]:
    """The system messages, and the conversation from there on: without results whose call is left out."""
    return (*messages[: _system(messages)], *_answering(messages[beginning:]))


class _Turns:
    """Adds items up to messages."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def add(self, item: Item) -> None:
        match item:
            case ItemMessage(role="assistant"):
                self._say(_text(item.content))
            case ItemMessage():
                self.messages.append({"role": item.role, "content": _parts(item.content)})
            case ItemReasoning():
                turn = self._turn()
                turn["reasoning"] = turn.get("reasoning", "") + item.text
            case ItemCall():
                function = {"name": item.name, "arguments": item.arguments}
                self._turn().setdefault("tool_calls", []).append({"id": item.call_id, "function": function})
            case ItemCallOutput():
                output = _parts(item.output)
                self.messages.append({"role": "tool", "tool_call_id": item.call_id, "content": output})

    def _say(self, text: str) -> None:
        turn = self._turn()
        if turn["content"] is not None and "tool_calls" not in turn:  # two messages, one after the other
            self.messages.append(turn := {"role": "assistant", "content": None})
        turn["content"] = (turn["content"] or "") + text

    def _turn(self) -> dict[str, Any]:
        """The message that the model is at."""
        if not self.messages or self.messages[-1]["role"] != "assistant":
            self.messages.append({"role": "assistant", "content": None})
        return self.messages[-1]


def _joined(content: str | Sequence[Mapping[str, str]]) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def _system(messages: Sequence[Message]) -> int:
    """How many system messages there are at the beginning."""
    return sum(1 for _ in takewhile(_is_system, messages))


def _is_system(message: Message) -> bool:
    return message["role"] in _SYSTEM


def _parts(content: str | Sequence[Part]) -> str | list[dict[str, str]]:
    return content if isinstance(content, str) else [{"type": "text", "text": part.said} for part in content]


def _text(content: str | Sequence[Part]) -> str:
    return content if isinstance(content, str) else "".join(part.said for part in content)


def _last_turn(messages: Sequence[Message]) -> int:
    """Where the part begins that must stay: the last message; for a result, its call."""
    last = len(messages) - 1
    wanted = messages[last].get("tool_call_id")
    while wanted is not None and last > 0 and wanted not in _call_ids(messages[last]):
        last -= 1
    return last


def _answering(messages: Sequence[Message]) -> Iterator[Message]:
    """These messages without the results of calls that are not among them."""
    calls: set[str] = set()
    for message in messages:
        calls.update(_call_ids(message))
        if message["role"] != "tool" or message["tool_call_id"] in calls:
            yield message


def _call_ids(message: Message) -> Iterator[str]:
    return (call["id"] for call in message.get("tool_calls") or () if "id" in call)
