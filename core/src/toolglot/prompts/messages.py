"""Chat Completions messages, checked and brought into the one form that chat templates take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from toolglot.containers import MAX_CONTAINERS, has_too_many
from toolglot.errors import RequestError


def read_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Check a conversation and return it as plain dicts.

    In the result the role is ``system``, ``user``, ``assistant`` or ``tool`` (``developer`` becomes ``system``);
    ``content`` is text (parts are joined by newlines, an assistant's refusal is text), or None beside ``tool_calls``;
    the ``arguments`` of calls are objects, or text where the text is no JSON object; reasoning stands under
    ``reasoning_content`` and ``reasoning``.
    Fields that no template reads are left out.

    Raises:
        RequestError: a message is not of this kind; ``param`` is the path to the field, as in ``messages[2].content``.
    """
    if not isinstance(messages, list | tuple):
        raise RequestError("`messages` must be a list", param="messages")
    if not messages:
        raise RequestError("`messages` is empty; send at least one message", param="messages")
    read = tuple(_message(message, f"messages[{index}]") for index, message in enumerate(messages))
    _open_arguments([call["function"] for message in read for call in message.get("tool_calls", ())])
    return read


def count_tool_calls(messages: Sequence[Mapping[str, Any]]) -> int:
    """How many calls the assistant has made in a conversation that :func:`read_messages` returned."""
    return sum(len(message.get("tool_calls", ())) for message in messages)


def _message(message: Any, at: str) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise RequestError("a message must be an object", param=at)
    role = message.get("role")
    if role == "function":
        raise RequestError('the role "function" is not supported; use "tool" and `tool_call_id`', param=f"{at}.role")
    if not isinstance(role, str) or role not in _READERS:
        raise RequestError(f"`role` is {role!r}; use one of {', '.join(_READERS)}", param=f"{at}.role")
    read = {"role": "system" if role == "developer" else role, **_READERS[role](message, at)}
    name = _optional_text(message, "name", at)
    return read if name is None else {**read, "name": name}


def _plain(message: Mapping[str, Any], at: str) -> dict[str, Any]:
    return {"content": _text(message.get("content"), f"{at}.content")}


def _tool(message: Mapping[str, Any], at: str) -> dict[str, Any]:
    call_id = message.get("tool_call_id")
    if not isinstance(call_id, str):
        raise RequestError(
            "a tool message needs `tool_call_id`, the id of the call that it answers", param=f"{at}.tool_call_id"
        )
    return {**_plain(message, at), "tool_call_id": call_id}


def _assistant(message: Mapping[str, Any], at: str) -> dict[str, Any]:
    if message.get("function_call") is not None:
        raise RequestError("`function_call` is not supported; use `tool_calls`", param=f"{at}.function_call")
    calls = _tool_calls(message.get("tool_calls"), f"{at}.tool_calls")
    refusal, content = _optional_text(message, "refusal", at), message.get("content")
    said = refusal if content is None else content
    read: dict[str, Any] = {"content": _assistant_content(said, bool(calls), f"{at}.content")}
    if calls:
        read["tool_calls"] = calls
    if (reasoning := _reasoning(message, at)) is not None:
        read["reasoning_content"] = read["reasoning"] = reasoning
    return read


_READERS: dict[str, Callable[[Mapping[str, Any], str], dict[str, Any]]] = {
    "system": _plain,
    "developer": _plain,
    "user": _plain,
    "assistant": _assistant,
    "tool": _tool,
}


def _assistant_content(content: Any, has_calls: bool, at: str) -> str | None:
    if content is None:
        return None if has_calls else ""  # a reply that was cut while it reasoned comes back as null
    return _text(content, at, _SAID)


def _reasoning(message: Mapping[str, Any], at: str) -> str | None:
    standard = _optional_text(message, "reasoning_content", at)
    alias = _optional_text(message, "reasoning", at)
    return alias if standard is None else standard


def _optional_text(message: Mapping[str, Any], key: str, at: str) -> str | None:
    value = message.get(key)
    if value is None or isinstance(value, str):
        return value
    raise RequestError(f"`{key}` must be text", param=f"{at}.{key}")


_TEXT = {"text": "text"}
"""The types of parts, each with its member that is text."""
_SAID = {**_TEXT, "refusal": "refusal"}
"""Those of an assistant, too."""


def _text(content: Any, at: str, kinds: Mapping[str, str] = _TEXT) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return "\n".join(_part(part, f"{at}[{index}]", kinds) for index, part in enumerate(content))
    raise RequestError("`content` must be text or a list of text parts", param=at)


def _part(part: Any, at: str, kinds: Mapping[str, str]) -> str:
    if not isinstance(part, Mapping):
        raise RequestError("a content part must be an object", param=at)
    kind = part.get("type")
    if not isinstance(kind, str) or kind not in kinds:
        raise RequestError(f'a part of type {kind!r} is not supported; use "text"', param=f"{at}.type")
    text = part.get(kinds[kind])
    if not isinstance(text, str):
        raise RequestError(f"`{kinds[kind]}` of a content part must be text", param=f"{at}.{kinds[kind]}")
    return text


def _tool_calls(calls: Any, at: str) -> list[dict[str, Any]]:
    if calls is None:
        return []
    if not isinstance(calls, list | tuple):
        raise RequestError("`tool_calls` must be a list", param=at)
    return [_tool_call(call, f"{at}[{index}]") for index, call in enumerate(calls)]


def _tool_call(call: Any, at: str) -> dict[str, Any]:
    if not isinstance(call, Mapping):
        raise RequestError("a tool call must be an object", param=at)
    if call.get("type", "function") != "function":
        raise RequestError(f'a call of type {call["type"]!r} is not supported; use "function"', param=f"{at}.type")
    call_id = _optional_text(call, "id", at)
    function = _function(call.get("function"), f"{at}.function")
    return {**({} if call_id is None else {"id": call_id}), "type": "function", "function": function}


def _function(function: Any, at: str) -> dict[str, Any]:
    if not isinstance(function, Mapping):
        raise RequestError("a tool call needs `function`, an object with `name` and `arguments`", param=at)
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise RequestError("a tool call needs the name of its function", param=f"{at}.name")
    return {"name": name, "arguments": _arguments(function.get("arguments"), f"{at}.arguments")}


def _open_arguments(functions: Sequence[dict[str, Any]]) -> None:
    """Make objects of the arguments that are JSON text."""
    written = [function for function in functions if isinstance(function["arguments"], str)]
    if has_too_many([function["arguments"].encode("utf-8", "surrogatepass") for function in written]):
        message = f"the arguments of the calls have more than {MAX_CONTAINERS} objects and lists together"
        raise RequestError(message, param="messages")
    for function in written:
        function["arguments"] = _object(function["arguments"])


def _arguments(arguments: Any, at: str) -> dict[str, Any] | str:
    if arguments is None:
        return {}
    if isinstance(arguments, Mapping):
        return dict(arguments)
    if not isinstance(arguments, str):
        raise RequestError("`arguments` must be JSON text or an object", param=at)
    return arguments if arguments.strip() else {}


def _object(text: str) -> dict[str, Any] | str:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text  # the model's malformed call comes back in the history: the template shows it as it was
    return value if isinstance(value, dict) else text
