"""A Messages body as what it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from toolglot.errors import RequestError
from toolglot.requests import Named, Tool, ToolChoice
from toolglot.server.ask import Ask, Sampling
from toolglot.server.decoding import convert, decode_object, refuse_unserved
from toolglot.server.effort import effort_kwargs
from toolglot.server.errors import ApiError
from toolglot.server.messages.conversation import conversation
from toolglot.server.messages.kinds import refuse_unserved_kinds
from toolglot.server.messages.protocol import (
    ChooseAny,
    ChooseNone,
    ChooseTool,
    CountTokensRequest,
    MessagesRequest,
    OutputFormat,
    ThinkingConfig,
    ToolChoiceParam,
    ToolParam,
)
from toolglot.server.response_format import ResponseFormat
from toolglot.server.tools import checked_choice, checked_tools, function_tool

R = TypeVar("R", bound=CountTokensRequest)

_HARMLESS_ONLY: Mapping[str, tuple[Any, ...]] = {"compaction": (), "container": (), "mcp_servers": ([],)}
"""Fields that would change the reply and are not served, each with the values (besides null) that change nothing."""

_NO_THREADS = "thread_unsupported_request"
"""Anthropic's code; its SDK's tool runner then sends whole conversations."""


def read(body: bytes) -> MessagesRequest:
    """The request in a body.

    Raises:
        RequestError: it is none, or asks for what is not served.
        ApiError: it asks for a conversation that the server keeps.
    """
    value = decode_object(body)
    request = _typed(value, MessagesRequest)
    refuse_unserved(value, _HARMLESS_ONLY)
    if value.get("thread") is not None:
        message = "`thread` is not supported; leave it out and send the whole conversation"
        raise ApiError(400, message, param="thread", code=_NO_THREADS)
    return request


def read_count(body: bytes) -> CountTokensRequest:
    """The request in a body whose tokens are to be counted.

    Raises:
        RequestError: it is none.
    """
    return _typed(decode_object(body), CountTokensRequest)


def ask(request: MessagesRequest) -> Ask:
    """What the request asks for.

    Raises:
        RequestError: messages or tools are not as they must be; ``param`` is the field.
    """
    prompt = prompt_ask(request)
    if prompt.messages[-1]["role"] == "assistant":
        message = "the last of `messages` is the assistant's, and its beginning (prefill) cannot be continued here"
        raise RequestError(message, param="messages")
    choice = request.tool_choice
    return replace(
        prompt,
        parallel_tool_calls=not (choice and choice.disable_parallel_tool_use),
        response_format=_response_format(request),
        stops=tuple(request.stop_sequences or ()),
        sampling=_sampling(request),
    )


def prompt_ask(request: CountTokensRequest) -> Ask:
    """What of a request makes the prompt.

    Raises:
        RequestError: messages or tools are not as they must be; ``param`` is the field.
    """
    tools = _tools(request.tools or [])
    return Ask(
        model=request.model,
        messages=conversation(request.system, request.messages),
        tools=tools,
        tool_choice=checked_choice(_choice(request.tool_choice), tools),
        chat_template_kwargs=_template_kwargs(request),
    )


def _typed(value: Mapping[str, Any], kind: type[R]) -> R:
    try:
        return convert(value, kind)
    except RequestError:
        refuse_unserved_kinds(value)  # says more, where that is the fault
        raise


def _tools(params: Sequence[ToolParam]) -> tuple[Tool, ...]:
    tools = [_tool(param, f"tools[{number}]") for number, param in enumerate(params)]
    return checked_tools(tools, "tools[{}].name") if tools else ()


def _tool(param: ToolParam, at: str) -> Tool:
    if "direct" not in (param.allowed_callers or ["direct"]):
        raise RequestError("a tool that the model may not call itself cannot be served", param=f"{at}.allowed_callers")
    examples = {"examples": param.input_examples} if param.input_examples else {}
    tool = Tool(param.name, param.description, {**param.input_schema, **examples}, param.strict)
    return function_tool(tool, name_at=f"{at}.name", schema_at=f"{at}.input_schema")


def _choice(choice: ToolChoiceParam | None) -> ToolChoice:
    match choice:
        case ChooseNone():
            return "none"
        case ChooseAny():
            return "required"
        case ChooseTool(name=name):
            return Named(name)
    return "auto"


def _response_format(request: MessagesRequest) -> ResponseFormat | None:
    config = request.output_config
    found: OutputFormat | None = (config and config.format) or request.output_format
    return None if found is None else ResponseFormat("output", found.json_schema, strict=True)


def _sampling(request: MessagesRequest) -> Sampling:
    return Sampling(
        max_tokens=request.max_tokens,
        clamp=True,  # clients ask for as much as they could use, and are told at the end that it was not there
        temperature=request.temperature,
        top_p=request.top_p,
        top_k=request.top_k,
    )


def _template_kwargs(request: CountTokensRequest) -> dict[str, Any]:
    config = request.output_config
    return {
        **effort_kwargs(None if config is None else config.effort),
        **_thinking(request.thinking),
        **(request.chat_template_kwargs or {}),
    }


def _thinking(config: ThinkingConfig | None) -> dict[str, Any]:
    """Templates have it under one of two names, and do not mind the other."""
    if config is None:
        return {}
    thinks = config.type != "disabled"
    return {"enable_thinking": thinks, "thinking": thinks}
