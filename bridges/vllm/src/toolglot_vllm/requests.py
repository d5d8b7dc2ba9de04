"""What vLLM was asked, as toolglot calls it. The fields are those of its Chat Completions and of its Responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from toolglot import Request, Tool
from toolglot.requests import Named, StrictLevel, ToolChoice

Prompt = Literal["open", "closed", "absent"]
"""Whether the prompt ends with the reasoning opened, or opened and closed again, or neither."""


def toolglot_request(
    request: Any, tools: Iterable[Any] = (), *, prompt: Prompt = "closed", strict_level: StrictLevel = "auto"
) -> Request:
    """``request`` as toolglot's parsers are asked; ``tools`` are taken where it has none of its own."""
    return Request(
        tools=tuple(_tool(tool) for tool in getattr(request, "tools", None) or tools if _is_function(tool)),
        tool_choice=_choice(getattr(request, "tool_choice", None)),
        parallel_tool_calls=getattr(request, "parallel_tool_calls", None) is not False,
        reasoning_open=prompt == "open",
        may_reason=prompt == "absent",
        earlier_calls=_earlier_calls(request),
        strict_level=strict_level,
    )


def _is_function(tool: Any) -> bool:
    return hasattr(getattr(tool, "function", tool), "parameters")


def _tool(tool: Any) -> Tool:
    function = getattr(tool, "function", tool)  # Responses have them flat
    return Tool(function.name, function.description, function.parameters, getattr(function, "strict", None))


def _choice(choice: Any) -> ToolChoice:
    if choice in ("none", "required"):
        return choice  # type: ignore[no-any-return]  # just compared with the literals
    name = getattr(getattr(choice, "function", choice), "name", None)
    return Named(name) if isinstance(name, str) else "auto"


def _earlier_calls(request: Any) -> int:
    """How many calls the conversation holds."""
    said = getattr(request, "messages", None) or getattr(request, "input", None) or ()
    return 0 if isinstance(said, str) else sum(map(_calls_in, said))


def _calls_in(message: Any) -> int:
    if not isinstance(message, Mapping):
        return int(getattr(message, "type", None) == "function_call")
    if message.get("type") == "function_call":
        return 1
    return sum(1 for _ in message.get("tool_calls") or ())
