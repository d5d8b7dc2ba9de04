"""A Chat Completions body as what it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from toolglot.errors import RequestError
from toolglot.requests import Tool, ToolChoice, tool_choice
from toolglot.server.ask import Ask, Sampling
from toolglot.server.chat.protocol import (
    HARMLESS_ONLY,
    AllowedTools,
    AllowedToolsChoice,
    ChatRequest,
    ResponseFormatSpec,
    ToolSpec,
)
from toolglot.server.chat.turns import conversation, convert_with_turns
from toolglot.server.decoding import convert, decode_object, refuse_unserved
from toolglot.server.effort import effort_kwargs
from toolglot.server.response_format import ANY_OBJECT, ResponseFormat
from toolglot.server.tools import checked_allowed, checked_choice, checked_tools, function_tool


def read(body: bytes) -> ChatRequest:
    """The request in a body.

    Raises:
        RequestError: it is none, or asks for what is not served.
    """
    value = decode_object(body)
    chat = convert_with_turns(value, ChatRequest)
    refuse_unserved(value, HARMLESS_ONLY)
    chat.check()
    if chat.top_logprobs and not chat.logprobs:
        raise RequestError("`top_logprobs` goes with `logprobs: true` only", param="top_logprobs")
    return chat


def ask(chat: ChatRequest) -> Ask:
    """What the request asks for.

    Raises:
        RequestError: messages or tools are not as they must be; ``param`` is the field.
    """
    tools = read_tools(chat.tools)
    return Ask(
        model=chat.model,
        n=chat.n or 1,
        messages=conversation(chat.messages),
        tools=tools,
        tool_choice=read_choice(chat.tool_choice, tools),
        allowed_tools=read_allowed(chat.tool_choice, tools),
        parallel_tool_calls=chat.parallel_tool_calls is not False,
        response_format=read_response_format(chat.response_format),
        stops=chat.stops,
        include_stop=bool(chat.include_stop_str_in_output),
        sampling=_sampling(chat),
        chat_template_kwargs=_template_kwargs(chat),
        skip_special_tokens=chat.skip_special_tokens is not False,
    )


def read_tools(specs: Sequence[ToolSpec] | None) -> tuple[Tool, ...]:
    """The tools that a request offers.

    Raises:
        RequestError: the list is empty, a tool is no function, or a name is bad or given twice.
    """
    if specs is None:
        return ()
    return checked_tools([_tool(spec, f"tools[{at}]") for at, spec in enumerate(specs)], "tools[{}].function.name")


def read_choice(value: Any, tools: Sequence[Tool]) -> ToolChoice:
    """The ``tool_choice`` of a request that offers ``tools``; null means ``auto``.

    Raises:
        RequestError: it is none that is served, or asks for a call of a tool that is not offered.
    """
    if value is None:
        return "auto"
    if _allows(value):
        value = _allowed(value).mode
    elif isinstance(value, Mapping) and value.get("type", "function") != "function":
        message = f'a `tool_choice` of type {value["type"]!r} cannot be served; use "function" or "allowed_tools"'
        raise RequestError(message, param="tool_choice.type")
    return checked_choice(tool_choice(value), tools)


def read_allowed(value: Any, tools: Sequence[Tool]) -> tuple[str, ...] | None:
    """The tools that a ``tool_choice`` allows; None: all.

    Raises:
        RequestError: it allows none, or one that is not offered or no function.
    """
    if not _allows(value):
        return None
    at = "tool_choice.allowed_tools.tools"
    names = [_tool(spec, f"{at}[{number}]").name for number, spec in enumerate(_allowed(value).tools)]
    return checked_allowed(names, tools, at=at, name_at=f"{at}[{{}}].function.name")


def read_response_format(spec: ResponseFormatSpec | None) -> ResponseFormat | None:
    """What the content is to be; None: free text.

    Raises:
        RequestError: the type is ``json_schema``, and there is none.
    """
    if spec is None or spec.type == "text":
        return None
    if spec.type == "json_object":
        return ResponseFormat("json_object", ANY_OBJECT)
    if spec.json_schema is None:
        message = '`response_format` of type "json_schema" needs a `json_schema` with `name` and `schema`'
        raise RequestError(message, param="response_format.json_schema")
    asked = spec.json_schema
    return ResponseFormat(asked.name, True if asked.schema is None else asked.schema, bool(asked.strict))


def _allows(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("type") == "allowed_tools"


def _allowed(value: Any) -> AllowedTools:
    class Body(Struct):
        tool_choice: AllowedToolsChoice

    return convert({"tool_choice": value}, Body).tool_choice.allowed_tools


def _tool(spec: ToolSpec, at: str) -> Tool:
    if spec.type != "function":
        raise RequestError(f'tools of type {spec.type!r} cannot be served; use "function"', param=f"{at}.type")
    function = spec.function
    if function is None:
        raise RequestError(f"a tool needs a `function` at `{at}`", param=f"{at}.function")
    at = f"{at}.function"
    tool = Tool(function.name, function.description, function.parameters, function.strict)
    return function_tool(tool, name_at=f"{at}.name", schema_at=f"{at}.parameters")


def _sampling(chat: ChatRequest) -> Sampling:
    param = "max_tokens" if chat.max_completion_tokens is None else "max_completion_tokens"
    logprobs = (chat.top_logprobs or 0) if chat.logprobs else None
    return chat.sampling(getattr(chat, param), max_tokens_param=param, prompt_param="messages", logprobs=logprobs)


def _template_kwargs(chat: ChatRequest) -> dict[str, Any]:
    return {**effort_kwargs(chat.reasoning_effort), **(chat.chat_template_kwargs or {})}
