"""The conversation as a model sees it that knows of no tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from toolglot import Call, Named, RenderError, Request, Tool

Message = Mapping[str, Any]
Render = Callable[[list[Call]], str]

_ASK = """\
You can call functions. To call one, reply with nothing but a JSON object on one line:
{{"name": "the function's name", "arguments": {{"a parameter": "its value"}}}}
To call several, write one such object a line. {choice}
Functions:
{functions}

"""
_CHOICE = {
    "auto": "Where no function helps, answer in plain text.",
    "required": "Now call a function; do not answer.",
}


def with_tools(request: Request, render: Render) -> tuple[Message, ...]:
    """The messages, with the tools told before what the user said last, and earlier calls and results as text.

    ``render`` writes calls.
    """
    messages = _told(request.messages, _asked(request)) if request.calls_allowed else request.messages
    return tuple(_plain(messages, render))


def _asked(request: Request) -> str:
    choice = request.tool_choice
    wanted = f"Now call {choice.name}; do not answer." if isinstance(choice, Named) else _CHOICE[choice]
    return _ASK.format(choice=wanted, functions="\n".join(map(_described, request.tools)))


def _told(messages: Sequence[Message], text: str) -> Sequence[Message]:
    places = [number for number, message in enumerate(messages) if message["role"] == "user"]
    if not places:
        return [*messages, {"role": "user", "content": text.rstrip()}]
    said = messages[places[-1]]
    return [*messages[: places[-1]], {**said, "content": text + said["content"]}, *messages[places[-1] + 1 :]]


def _described(tool: Tool) -> str:
    return json.dumps(tool.to_openai()["function"], ensure_ascii=False)


def _plain(messages: Iterable[Message], render: Render) -> list[Message]:
    """The messages without calls and results; the roles alternate, as some chat templates want them."""
    names: dict[str, str] = {}
    plain: list[Message] = []
    for message in messages:
        made = _as_text(message, names, render)
        if plain and plain[-1]["role"] == made["role"] == "user":
            made = {**made, "content": f"{plain.pop()['content']}\n\n{made['content']}"}
        plain.append(made)
    return plain


def _as_text(message: Message, names: dict[str, str], render: Render) -> Message:
    if message["role"] == "tool":
        name = names.get(message["tool_call_id"], "the function")
        return {"role": "user", "content": f"Result of {name}:\n{message['content']}"}
    if not message.get("tool_calls"):
        return message
    calls = [_call(call) for call in message["tool_calls"]]
    names.update((call.id, call.name) for call in calls)
    text = "\n".join(filter(None, (message.get("content"), *(_written(call, render) for call in calls))))
    return {**{key: value for key, value in message.items() if key != "tool_calls"}, "content": text}


def _call(call: Mapping[str, Any]) -> Call:
    function, arguments = call["function"], call["function"]["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Call(call.get("id", ""), function["name"], text)


def _written(call: Call, render: Render) -> str:
    """A call as the format writes it; one whose arguments the model broke stays as it was."""
    try:
        return render([call])
    except RenderError:
        return f"{call.name}: {call.arguments}"
