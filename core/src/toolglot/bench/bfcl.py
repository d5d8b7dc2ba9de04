"""The Berkeley Function Calling Leaderboard (version 4): its functions and its questions.

They are read from where the package ``bfcl-eval`` is installed, or unpacked; its code is never imported.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from toolglot.errors import ToolglotError
from toolglot.requests import Tool

_PACKAGE = "bfcl_eval"
_PREFIX = "BFCL_v4_"
_SETTINGS = "BFCL_v4_format_sensitivity"
"""The file that holds no questions, but which of them an evaluation varies."""
_FUNCTIONS = "multi_turn_func_doc"
"""The folder with the functions of questions of several turns."""
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_TYPES = {
    "dict": "object", "hashmap": "object", "tuple": "array", "arraylist": "array", "float": "number",
    "double": "number", "long": "integer", "char": "string",
}  # fmt: skip
"""BFCL's names of types, which are those of Python, Java and JavaScript; ``any`` is none."""
_VALUES = ("enum", "default")
"""Keywords that hold values, not schemas."""
_STANDARD = ("object", "array", "string", "number", "integer", "boolean", "null")


class Question(Struct, frozen=True):
    """What is asked, and the tools that are offered for it."""

    id: str
    messages: tuple[dict[str, Any], ...]
    tools: tuple[Tool, ...]


def folder() -> Path:
    """Where the installed package has its data.

    Raises:
        ToolglotError: it is not installed.
    """
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ToolglotError("the questions are those of BFCL; try: pip install --no-deps bfcl-eval")
    return Path(found.submodule_search_locations[0]) / "data"


def functions(data: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every function in BFCL's own form, with where it is from: a function may come several times."""
    for record in _records(data):
        for number, function in enumerate(record.get("function", ())):
            yield f"{record['id']}/{number}", function
    for path in sorted((data / _FUNCTIONS).glob("*.json")):
        for number, function in enumerate(_lines(path)):
            yield f"{path.stem}/{number}", function


def questions(data: Path) -> Iterator[Question]:
    """The questions that offer functions, with schemas in JSON Schema's spelling and names that every server takes.

    Of questions of several turns, the first.
    """
    for record in _records(data):
        tools = _offered(record.get("function", ()))
        if tools:
            yield Question(record["id"], tuple(record["question"][0]), tools)


def json_schema(schema: Any) -> Any:
    """A schema of BFCL in JSON Schema's spelling."""
    if isinstance(schema, list):
        return [json_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return dict(filter(None, (_keyword(*one) for one in schema.items())))


def _keyword(keyword: str, value: Any) -> tuple[str, Any] | None:
    """A keyword of a schema; None where it says nothing."""
    if keyword in _VALUES:
        return keyword, value
    if keyword == "properties":
        return keyword, {name: json_schema(member) for name, member in value.items()}
    if keyword == "type" and isinstance(value, str):
        name = _TYPES.get(value.lower(), value.lower())
        return (keyword, name) if name in _STANDARD else None
    return keyword, json_schema(value)


def tool_name(name: str) -> str:
    """A function's name in the letters that OpenAI's API takes."""
    return _NO_NAME.sub("_", name)[:_LONGEST_NAME]


def _offered(found: list[dict[str, Any]]) -> tuple[Tool, ...]:
    tools = {tool_name(one["name"]): one for one in found}
    return tuple(Tool(name, one["description"], json_schema(one["parameters"])) for name, one in tools.items())


def _records(data: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(data.glob(f"{_PREFIX}*.json")):
        if path.stem != _SETTINGS:
            yield from _lines(path)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip())
