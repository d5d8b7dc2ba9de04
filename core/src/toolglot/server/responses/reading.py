"""A body of the Responses API as what it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolglot.errors import RequestError
from toolglot.prompts import read_messages
from toolglot.requests import Named, Tool, ToolChoice
from toolglot.server.ask import Ask, Sampling
from toolglot.server.decoding import convert, decode_object, refuse_unserved
from toolglot.server.effort import effort_kwargs
from toolglot.server.response_format import ANY_OBJECT, ResponseFormat
from toolglot.server.responses.conversation import chat_messages
from toolglot.server.responses.items import Item, ItemCall, ItemCallOutput
from toolglot.server.responses.protocol import (
    HARMLESS_ONLY,
    INCLUDABLE,
    LOGPROBS,
    AllowedTool,
    AllowedTools,
    EchoedText,
    FunctionTool,
    InputTokensRequest,
    ResponsesRequest,
    TextFormat,
)
from toolglot.server.tools import checked_allowed, checked_choice, checked_tools, function_tool

R = TypeVar("R", bound=InputTokensRequest)


def read(body: bytes) -> ResponsesRequest:
    """The request in a body.

    Raises:
        RequestError: it is none, or asks for what is not served.
    """
    request = _read(body, ResponsesRequest)
    if request.stream_options is not None and not request.stream:
        raise RequestError("`stream_options` goes with `stream: true` only", param="stream_options")
    if request.top_logprobs and not request.includes(LOGPROBS):
        raise RequestError(f'`top_logprobs` goes with `include: ["{LOGPROBS}"]` only', param="top_logprobs")
    for number, name in enumerate(request.include or ()):
        _check_included(name, f"include[{number}]")
    return request


def read_count(body: bytes) -> InputTokensRequest:
    """The request in a body whose tokens are to be counted.

    Raises:
        RequestError: it is none, or asks for what is not served.
    """
    return _read(body, InputTokensRequest)


def ask(request: ResponsesRequest, items: Sequence[Item]) -> Ask:
    """What the request asks for, whose whole conversation is ``items``.

    Raises:
        RequestError: tools, tool choice or text format are not as they must be; ``param`` is the field.
    """
    return replace(prompt_ask(request, items), sampling=_sampling(request))


def prompt_ask(request: InputTokensRequest, items: Sequence[Item]) -> Ask:
    """What of a request makes the prompt, and what its reply is to be; as :func:`ask`."""
    tools = read_tools(request.tools or ())
    return Ask(
        model=request.model or "",
        messages=read_messages(chat_messages(request.instructions, items)),
        tools=tools,
        tool_choice=read_choice(request.tool_choice, tools),
        allowed_tools=read_allowed(request.tool_choice, tools),
        parallel_tool_calls=request.parallel_tool_calls is not False,
        response_format=read_format(text_format(request)),
        chat_template_kwargs=_template_kwargs(request),
    )


def read_tools(specs: Sequence[FunctionTool]) -> tuple[Tool, ...]:
    """The tools that a request offers. One that does not say whether it is strict is as strict as it can be.

    Raises:
        RequestError: a tool is no function, or a name is bad or given twice.
    """
    tools = [_tool(spec, f"tools[{at}]") for at, spec in enumerate(specs)]
    return checked_tools(tools, "tools[{}].name") if tools else ()


def read_choice(value: Any, tools: Sequence[Tool]) -> ToolChoice:
    """The ``tool_choice`` of a request that offers ``tools``; null means ``auto``.

    Raises:
        RequestError: it is none that is served, or asks for a call of a tool that is not offered.
    """
    if isinstance(value, Mapping):
        return checked_choice(_chosen(value), tools)
    if value not in ("auto", "none", "required", None):
        message = f'`tool_choice` is {str(value)[:80]!r}; use "auto", "none", "required", a function or allowed tools'
        raise RequestError(message, param="tool_choice")
    return checked_choice(value or "auto", tools)


def read_allowed(value: Any, tools: Sequence[Tool]) -> tuple[str, ...] | None:
    """The tools that a ``tool_choice`` allows; None: all.

    Raises:
        RequestError: it allows none, or one that is not offered or no function.
    """
    if not isinstance(value, Mapping) or value.get("type") != "allowed_tools":
        return None
    at = "tool_choice.tools"
    names = [_allowed_name(tool, f"{at}[{number}]") for number, tool in enumerate(_allowed(value).tools)]
    return checked_allowed(names, tools, at=at, name_at=f"{at}[{{}}].name")


def text_format(request: InputTokensRequest) -> TextFormat:
    """``text.format``, or what it is by default."""
    return (request.text and request.text.format) or TextFormat()


def echoed_text(request: InputTokensRequest) -> EchoedText:
    """``text`` with its defaults."""
    return EchoedText(text_format(request), (request.text and request.text.verbosity) or "medium")


def read_format(spec: TextFormat) -> ResponseFormat | None:
    """What the text is to be; None: free.

    Raises:
        RequestError: the type is ``json_schema``, and there is none, or no name.
    """
    if spec.type == "text":
        return None
    if spec.type == "json_object":
        return ResponseFormat("json_object", ANY_OBJECT)
    for field in ("name", "schema"):
        if getattr(spec, field) is UNSET:
            raise RequestError(f'a format of type "json_schema" needs `{field}`', param=f"text.format.{field}")
    return ResponseFormat(str(spec.name), spec.schema or {}, spec.strict is True)


def check_results(items: Sequence[Item], earlier: Sequence[Item]) -> None:
    """Refuse results of calls that are not in the conversation.

    Raises:
        RequestError: there is one; ``param`` is the field with its call's id.
    """
    calls = {item.call_id for item in earlier if isinstance(item, ItemCall)}
    for number, item in enumerate(items):
        if isinstance(item, ItemCall):
            calls.add(item.call_id)
        elif isinstance(item, ItemCallOutput) and item.call_id not in calls:
            message = f"the conversation has no call {item.call_id[:80]!r} before this result of it"
            raise RequestError(message, param=f"input[{number}].call_id")


def _read(body: bytes, kind: type[R]) -> R:
    value = decode_object(body)
    request = convert(value, kind)
    refuse_unserved(value, HARMLESS_ONLY)
    if not request.input and request.previous_response_id is None:
        raise RequestError("there is no `input`; send text or a list of items", param="input")
    return request


def _check_included(name: str, at: str) -> None:
    if name not in INCLUDABLE:
        raise RequestError(f"{name[:80]!r} is nothing that can be included", param=at)


def _tool(spec: FunctionTool, at: str) -> Tool:
    if spec.type != "function":
        raise RequestError(f'tools of type {spec.type[:80]!r} cannot be served; use "function"', param=f"{at}.type")
    if spec.name is None:
        raise RequestError(f"a function needs a `name` at `{at}`", param=f"{at}.name")
    tool = Tool(spec.name, spec.description, spec.parameters, "prefer" if spec.strict is None else spec.strict)
    return function_tool(tool, name_at=f"{at}.name", schema_at=f"{at}.parameters")


def _chosen(value: Mapping[str, Any]) -> ToolChoice:
    match value.get("type"):
        case "allowed_tools":
            return _allowed(value).mode
        case "function" if isinstance(name := value.get("name"), str):
            return Named(name)
        case "function":
            raise RequestError("a function that is chosen needs its `name`", param="tool_choice.name")
    message = (
        f'a `tool_choice` of type {str(value.get("type"))[:80]!r} cannot be served; use "function" or "allowed_tools"'
    )
    raise RequestError(message, param="tool_choice.type")


def _allowed(value: Mapping[str, Any]) -> AllowedTools:
    class Body(Struct):
        tool_choice: AllowedTools

    return convert({"tool_choice": value}, Body).tool_choice


def _allowed_name(tool: AllowedTool, at: str) -> str:
    if tool.type != "function" or tool.name is None:
        raise RequestError('an allowed tool has the type "function" and a `name`', param=at)
    return tool.name


def _sampling(request: ResponsesRequest) -> Sampling:
    return Sampling(
        max_tokens=request.max_output_tokens,
        max_tokens_param="max_output_tokens",
        temperature=request.temperature,
        top_p=request.top_p,
        top_k=request.top_k,
        min_p=request.min_p,
        seed=request.seed,
        prompt_param="input",
        logprobs=(request.top_logprobs or 0) if request.includes(LOGPROBS) else None,
    )


def _template_kwargs(request: InputTokensRequest) -> dict[str, Any]:
    effort = request.reasoning.effort if request.reasoning else None
    return {**effort_kwargs(effort), **(request.chat_template_kwargs or {})}
