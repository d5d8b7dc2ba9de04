"""What ``parse`` and ``render`` share: the parser they name, their tools, their input."""

from __future__ import annotations

import json
import logging
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolglot.cli.arguments import UsageError, did_you_mean
from toolglot.errors import DuplicateParserError, RequestError, UnknownParserError

if TYPE_CHECKING:
    from toolglot.cli.arguments import ArgumentParser
    from toolglot.parser import Parser

logger = logging.getLogger("toolglot")


def add_parser_flags(parser: ArgumentParser, which: str = "`toolglot parsers` lists the installed") -> None:
    parser.add_argument("--tool-call-parser", metavar="NAME", help=f"the parser; {which}")
    parser.add_argument(
        "--tool-parser-plugin", metavar="FILE", action="append", default=[], help="a Python file that defines parsers"
    )
    parser.add_argument(
        "--replace-parser", action="store_true", help="such a file may replace an installed parser of the same name"
    )


def add_input_flags(parser: ArgumentParser, what: str) -> None:
    parser.add_argument("--tools", metavar="FILE", help="a JSON file with the tools, as in a request's `tools`")
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help=f"{what} (default: standard input)")


def load_plugin_files(paths: Sequence[str], *, replace: bool) -> None:
    """Load each ``--tool-parser-plugin`` file, and say which parsers it replaces. Raises PluginError, UsageError."""
    from toolglot import plugins

    for path in paths:
        before = {parser.name: f"{parser.distribution} {parser.version}" for parser in plugins.installed()}
        try:
            names = plugins.load_file(path, replace=replace)
        except DuplicateParserError as error:
            raise UsageError(
                f"plugin file {path} registers {error.name!r}, which {before[error.name]} has too; "
                "give it another name, or pass --replace-parser"
            ) from error
        for name in before.keys() & names:
            logger.warning("parser %r of %s replaces the one of %s", name, path, before[name])


def load_parser(name: str | None, **context: Any) -> Parser:
    """Load the parser ``name``; an unknown one is refused with the closest name. Raises PluginError, UsageError."""
    import toolglot

    if name == "auto":
        raise UsageError("--tool-call-parser auto is for serve; to find a parser: toolglot parsers --detect MODEL")
    if name is None:
        raise UsageError(f"--tool-call-parser is missing; one of: {', '.join(toolglot.parser_names())}")
    try:
        return toolglot.load_parser(name, **context)
    except UnknownParserError as error:
        hint = did_you_mean(error.name, error.known)
        raise UsageError(f"unknown tool call parser {name!r}; {hint}" if hint else str(error)) from error


def parser_of(arguments: Namespace, **context: Any) -> Parser:
    """The parser that the flags of :func:`add_parser_flags` name."""
    load_plugin_files(arguments.tool_parser_plugin, replace=arguments.replace_parser)
    return load_parser(arguments.tool_call_parser, **context)


def add_tokenizer_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--tokenizer", metavar="DIR", help="a checkpoint's directory, for a format that depends on the vocabulary"
    )
    add_tokenizer_mode(parser)


def add_tokenizer_mode(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--tokenizer-mode",
        choices=("auto", "hf", "mistral"),
        default="auto",
        help="whose tokenizer: transformers' (hf) or mistral-common's, which also writes prompts (default: auto)",
    )


def read_tokenizer(path: str | None, choice: Any) -> Any:
    """The tokenizer of the checkpoint in the directory ``path``, or None. Raises UsageError, ModelError."""
    if path is None:
        return None
    if not Path(path).is_dir():
        raise UsageError(f"--tokenizer {path}: no such directory")
    try:
        from toolglot import checkpoints

        return checkpoints.load_tokenizer(Path(path), checkpoints.tokenizer_mode(Path(path), choice))
    except ModuleNotFoundError as error:
        raise UsageError(f"--tokenizer needs {error.name}; try: pip install 'toolglot[engine]'") from error


def read_tools(path: str | None) -> tuple[Any, ...]:
    """The tools in the JSON file ``path``, checked. Raises UsageError, which names the file and the faulty tool."""
    return () if path is None else checked_tools(read_json(path, "tools file"), path)


def checked_tools(tools: Any, path: str) -> tuple[Any, ...]:
    """The tools, if they are in OpenAI's form. Raises UsageError, which names the file and the faulty tool."""
    from toolglot.requests import Tool

    if not isinstance(tools, list):
        raise UsageError(f"tools file {path}: a JSON array of tools is wanted, not {type(tools).__name__}")
    for number, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise UsageError(f"tools file {path}: tools[{number}] is no object")
        try:
            Tool.from_openai(tool, f"tools[{number}]")
        except RequestError as error:
            raise UsageError(f"tools file {path}: {error}") from error
    return tuple(tools)


def called_tools(parser: Parser, text: str) -> tuple[Any, ...]:
    """Each name that an output calls, as a tool without a schema: for when nobody says which tools were offered."""
    message = parser.parse(text, tools=[_tool("any")])
    return tuple(_tool(name) for name in sorted({"any"} | {call.name for call in message.tool_calls}))


def _tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def read_json(path: str, what: str) -> Any:
    """The JSON value in the file ``path`` (``-``: standard input), which may begin with a byte order mark. Raises
    UsageError.
    """
    try:
        return json.loads(read_text(path, what).removeprefix("\ufeff"))
    except ValueError as error:
        raise UsageError(f"{what} {path}: not JSON: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{what} {path}: nested too deeply") from error


def read_text(path: str, what: str) -> str:
    """The text of the file ``path`` (``-``: standard input), line ends as they are. Raises UsageError."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode()
    except OSError as error:
        raise UsageError(f"{what} {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{what} {path}: not UTF-8 at byte {error.start}") from error
