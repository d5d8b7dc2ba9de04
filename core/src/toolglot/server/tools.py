"""The tools of a request, and how they may be chosen: checked against each other and against what the server can do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolglot.errors import RequestError
from toolglot.requests import Named, Tool, ToolChoice, tool_choice
from toolglot.schemas.type_names import type_names
from toolglot.server.config import ServerConfig
from toolglot.server.protocol import ToolSpec

_DATA = frozenset(("const", "enum", "default", "examples"))
"""Keywords that hold values and no schemas."""
_NAME = re.compile(r"[\w.:/-]{1,128}")

NO_PARSER = (
    "this server reads no tool calls; start it with --enable-auto-tool-choice --tool-call-parser NAME, "
    'or send `tool_choice: "none"`'
)
NO_AUTO = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'


def read_tools(specs: Sequence[ToolSpec] | None) -> tuple[Tool, ...]:
    """The tools that a request offers.

    Raises:
        RequestError: the list is empty, a tool is no function, or a name is bad or given twice.
    """
    if specs is None:
        return ()
    if not specs:
        raise RequestError("`tools` must not be empty; leave it out to offer no tools", param="tools")
    tools = tuple(_tool(spec, f"tools[{number}]") for number, spec in enumerate(specs))
    _refuse_duplicates(tools)
    return tools


def read_choice(value: Any, tools: Sequence[Tool]) -> ToolChoice:
    """The ``tool_choice`` of a request that offers ``tools``; null means ``auto``.

    Raises:
        RequestError: it is none that is served, or asks for a call of a tool that is not offered.
    """
    if value is None:
        return "auto"
    if isinstance(value, Mapping) and value.get("type", "function") != "function":
        raise RequestError('only `tool_choice` of type "function" can be served', param="tool_choice.type")
    choice = tool_choice(value)
    if choice in ("auto", "none"):
        return choice
    if not tools:
        raise RequestError("this `tool_choice` needs `tools`", param="tool_choice")
    if isinstance(choice, Named) and choice.name not in (tool.name for tool in tools):
        raise RequestError(f"`tool_choice` names {choice.name!r}, which is not in `tools`", param="tool_choice")
    return choice


def check_served(tools: Sequence[Tool], choice: ToolChoice, config: ServerConfig, *, has_parser: bool) -> None:
    """Refuse calls that this server cannot read.

    Raises:
        RequestError: no parser is configured, or the model may not call of its own accord.
    """
    if not tools or choice == "none":
        return
    if not has_parser:
        raise RequestError(NO_PARSER, param="tools")
    if choice == "auto" and not config.enable_auto_tool_choice:
        raise RequestError(NO_AUTO, param="tool_choice")


def _tool(spec: ToolSpec, at: str) -> Tool:
    if spec.type != "function":
        raise RequestError(f'tools of type {spec.type!r} cannot be served; use "function"', param=f"{at}.type")
    function = spec.function
    if function is None:
        raise RequestError(f"a tool needs a `function` at `{at}`", param=f"{at}.function")
    if not _NAME.fullmatch(function.name):
        message = f"{function.name[:128]!r} is no name for a tool: use 1 to 128 letters, digits, and any of _ - . : /"
        raise RequestError(message, param=f"{at}.function.name")
    _refuse_odd_schema(function.parameters or {}, f"{at}.function.parameters")
    return Tool(function.name, function.description, function.parameters, function.strict)


def _refuse_odd_schema(schema: Mapping[str, Any], at: str) -> None:
    """Arguments are an object, and a schema is all there is to know of them: nothing that it refers to is fetched."""
    if "type" in schema and "object" not in type_names(schema["type"]):
        raise RequestError(f"the arguments of a function are an object; so must be `{at}`", param=f"{at}.type")
    left: list[Any] = [schema]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            reference = value.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                message = f"`$ref` {reference[:80]!r} leaves the schema; only references within it (`#/…`) are followed"
                raise RequestError(message, param=at)
            left += (part for keyword, part in value.items() if keyword not in _DATA)
        elif isinstance(value, list):
            left += value


def _refuse_duplicates(tools: Sequence[Tool]) -> None:
    seen: set[str] = set()
    for number, tool in enumerate(tools):
        if tool.name in seen:
            raise RequestError(f"two tools are named {tool.name!r}", param=f"tools[{number}].function.name")
        seen.add(tool.name)
