"""A Chat Completions body as what it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolglot.errors import RequestError
from toolglot.prompts import read_messages
from toolglot.requests import Tool, ToolChoice, tool_choice
from toolglot.server.ask import Ask, Sampling
from toolglot.server.chat.protocol import HARMLESS_ONLY, ChatRequest, ResponseFormatSpec, ToolSpec
from toolglot.server.decoding import convert, decode_object
from toolglot.server.encoding import encode_json
from toolglot.server.response_format import ANY_OBJECT, ResponseFormat
from toolglot.server.tools import checked_choice, checked_tools, function_tool


def read(body: bytes) -> ChatRequest:
    """The request in a body.

    Raises:
        RequestError: it is none, or asks for what is not served.
    """
    value = decode_object(body)
    chat = convert(value, ChatRequest)
    _refuse_unserved(value, HARMLESS_ONLY)
    if chat.stream_options is not None and not chat.stream:
        raise RequestError("`stream_options` goes with `stream: true` only", param="stream_options")
    return chat


def ask(chat: ChatRequest) -> Ask:
    """What the request asks for.

    Raises:
        RequestError: messages or tools are not as they must be; ``param`` is the field.
    """
    tools = read_tools(chat.tools)
    return Ask(
        model=chat.model,
        messages=read_messages(chat.messages),
        tools=tools,
        tool_choice=read_choice(chat.tool_choice, tools),
        parallel_tool_calls=chat.parallel_tool_calls is not False,
        response_format=read_response_format(chat.response_format),
        stops=_stops(chat.stop),
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
    if isinstance(value, Mapping) and value.get("type", "function") != "function":
        raise RequestError('only `tool_choice` of type "function" can be served', param="tool_choice.type")
    return checked_choice(tool_choice(value), tools)


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
    return Sampling(
        max_tokens=getattr(chat, param),
        max_tokens_param=param,
        temperature=chat.temperature,
        top_p=chat.top_p,
        top_k=chat.top_k,
        min_p=chat.min_p,
        seed=chat.seed,
        ignore_eos=bool(chat.ignore_eos),
    )


def _stops(stop: str | list[str] | None) -> tuple[str, ...]:
    if stop is None:
        return ()
    return (stop,) if isinstance(stop, str) else tuple(stop)


def _template_kwargs(chat: ChatRequest) -> dict[str, Any]:
    effort = {} if chat.reasoning_effort is None else {"reasoning_effort": chat.reasoning_effort}
    return {**effort, **(chat.chat_template_kwargs or {})}


def _refuse_unserved(value: Mapping[str, Any], harmless: Mapping[str, tuple[Any, ...]]) -> None:
    for name in value.keys() & harmless.keys():
        if value[name] is not None and not any(_same(value[name], other) for other in harmless[name]):
            allowed = " or ".join(encode_json(other).decode() for other in harmless[name])
            only = f"; leave it out or set it to {allowed}" if allowed else "; leave it out"
            raise RequestError(f"`{name}` is not supported{only}", param=name)


def _same(value: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not 1, though Python says so."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)
