"""A good request to every route that takes one, and ways to spoil it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from clients.serving import MODEL

_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}
_FUNCTION = {"name": "get_weather", "description": "The weather", "parameters": _SCHEMA, "strict": True}
_TOOL = {"type": "function", "function": _FUNCTION}
_CHAT = {
    "model": MODEL,
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "rain"},
    ],
    "tools": [_TOOL],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": _SCHEMA}},
    "max_completion_tokens": 50,
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 5,
    "min_p": 0.1,
    "seed": 1,
    "n": 1,
    "stop": ["END"],
    "frequency_penalty": 0.1,
    "presence_penalty": 0.1,
    "logprobs": True,
    "top_logprobs": 2,
    "logit_bias": {},
    "stream": False,
    "reasoning_effort": "low",
    "chat_template_kwargs": {"x": 1},
    "user": "me",
    "metadata": {"a": "b"},
}
_RESPONSES = {
    "model": MODEL,
    "instructions": "Be kind.",
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm"}]},
        {"type": "function_call", "call_id": "a", "name": "get_weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "rain"},
    ],
    "tools": [{"type": "function", **_FUNCTION}],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_weather"}]},
    "parallel_tool_calls": True,
    "max_output_tokens": 50,
    "temperature": 0.5,
    "top_p": 0.9,
    "text": {"format": {"type": "json_schema", "name": "x", "schema": _SCHEMA, "strict": True}},
    "reasoning": {"effort": "low", "summary": "auto"},
    "truncation": "auto",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "stream": False,
    "metadata": {"a": "b"},
}
_TURNS = {
    "model": MODEL,
    "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": ""},
                {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "Oslo"}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "rain"}]}],
        },
    ],
    "tools": [{"name": "get_weather", "description": "The weather", "input_schema": _SCHEMA}],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": False},
    "thinking": {"type": "enabled", "budget_tokens": 1024},
}
_MESSAGES = {
    **_TURNS,
    "max_tokens": 2000,
    "stop_sequences": ["END"],
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 5,
    "stream": False,
    "metadata": {"user_id": "me"},
}

GOOD: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": _CHAT,
    "/v1/responses": _RESPONSES,
    "/v1/responses/input_tokens": {name: _RESPONSES[name] for name in ("model", "input", "instructions", "tools")},
    "/v1/messages": _MESSAGES,
    "/v1/messages/count_tokens": _TURNS,
    "/v1/completions": {"model": MODEL, "prompt": "Hi", "max_tokens": 20, "n": 1, "logprobs": 1, "stop": ["END"]},
    "/tokenize": {"model": MODEL, "messages": _CHAT["messages"], "tools": [_TOOL], "add_generation_prompt": True},
    "/detokenize": {"model": MODEL, "tokens": [1, 2, 3]},
    "/v1/toolglot/parse": {"text": "Hi", "tools": [_TOOL], "tool_choice": "auto"},
}
"""The body of a request to each route, with the fields that it takes."""

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**30,
    -1.5,
    1e308,
    "",
    "x" * 5000,
    "\ud800",
    "\0",
    "$ref",
    [],
    [None],
    [[[]]],
    {},
    {"type": "nothing"},
    {"": None},
    {"$ref": "#/x"},
    {"\ud800": {"type": "string"}},
)
"""What stands where something else should."""


def spoiled(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The body with one odd value in one place, for every place and value; and with each place left out."""
    for path in places(body):
        for value in ODD:
            yield f"{path} = {str(value)[:20]!a}", changed(body, path, value)
        yield f"{path} is left out", changed(body, path)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values within a value."""
    items: Sequence[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = tuple(value.items())
    elif isinstance(value, list):
        items = tuple(enumerate(value))
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def changed(body: dict[str, Any], path: Sequence[Any], *values: Any) -> dict[str, Any]:
    """A copy with another value at a path, or, without one, nothing there."""
    whole = copy.deepcopy(body)
    place: Any = whole
    for key in path[:-1]:
        place = place[key]
    if values:
        (place[path[-1]],) = values
    else:
        del place[path[-1]]
    return whole
