"""The tools of a request, and how they may be chosen: checked against each other and against what the server can do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolglot.errors import RequestError
from toolglot.requests import Named, Tool, ToolChoice
from toolglot.schemas.type_names import type_names
from toolglot.server.config import ServerConfig

_NAME = re.compile(r"[\w.:/-]{1,128}")

NO_PARSER = (
    "this server reads no tool calls; start it with --enable-auto-tool-choice --tool-call-parser NAME, "
    'or send `tool_choice: "none"`'
)
NO_AUTO = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'


def checked_tools(tools: Sequence[Tool], name_at: str) -> tuple[Tool, ...]:
    """The tools that a request offers; ``name_at`` is where each one's name is, with ``{}`` for its number.

    Raises:
        RequestError: the list is empty, or two have one name.
    """
    if not tools:
        raise RequestError("`tools` must not be empty; leave it out to offer no tools", param="tools")
    seen: set[str] = set()
    for number, tool in enumerate(tools):
        if tool.name in seen:
            raise RequestError(f"two tools are named {tool.name!r}", param=name_at.format(number))
        seen.add(tool.name)
    return tuple(tools)


def function_tool(tool: Tool, *, name_at: str, schema_at: str) -> Tool:
    """The tool, whose name and schema are at these fields of the request.

    Raises:
        RequestError: the name is none for a tool, or the schema none of a function's arguments.
    """
    if not _NAME.fullmatch(tool.name):
        message = f"{tool.name[:128]!r} is no name for a tool: use 1 to 128 letters, digits, and any of _ - . : /"
        raise RequestError(message, param=name_at)
    said = (tool.parameters or {}).get("type", "object")
    if "object" not in type_names(said):
        message = f"the arguments of a function are an object; so must be `{schema_at}`"
        raise RequestError(message, param=f"{schema_at}.type")
    return tool


def checked_choice(choice: ToolChoice, tools: Sequence[Tool]) -> ToolChoice:
    """The ``tool_choice`` of a request that offers ``tools``.

    Raises:
        RequestError: it asks for a call of a tool that is not offered.
    """
    if choice in ("auto", "none"):
        return choice
    if not tools:
        raise RequestError("this `tool_choice` needs `tools`", param="tool_choice")
    if isinstance(choice, Named) and choice.name not in (tool.name for tool in tools):
        raise RequestError(f"`tool_choice` names {choice.name!r}, which is not in `tools`", param="tool_choice")
    return choice


def checked_allowed(names: Sequence[str], tools: Sequence[Tool], *, at: str, name_at: str) -> tuple[str, ...]:
    """The names of the tools that a reply may call, of those that the request offers. ``at`` is where they are, and
    ``name_at`` where each one is, with ``{}`` for its number.

    Raises:
        RequestError: there are none, or one is not offered.
    """
    if not names:
        raise RequestError('no tool is allowed; use `tool_choice: "none"` for that', param=at)
    offered = {tool.name for tool in tools}
    for number, name in enumerate(names):
        if name not in offered:
            raise RequestError(f"{name!r} is allowed, but it is not in `tools`", param=name_at.format(number))
    return tuple(names)


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
