"""The functions that vLLM's tool parsers import beside its classes."""

from __future__ import annotations

import ast
import importlib
import json
import logging
import uuid
from collections.abc import Sequence
from typing import Any

__all__ = [
    "VLLM_TOOL_PARSE_REGEX_TIMEOUT_SECONDS",
    "AnyTokenizer",
    "MistralTokenizer",
    "TokenizerLike",
    "consume_space",
    "extract_intermediate_diff",
    "find_common_prefix",
    "find_common_suffix",
    "find_tool_properties",
    "init_logger",
    "is_complete_json",
    "is_list_of",
    "is_mistral_tokenizer",
    "make_tool_call_id",
    "partial_json_loads",
    "partial_tag_overlap",
    "random_tool_call_id",
    "random_uuid",
    "safe_literal_eval",
]


VLLM_TOOL_PARSE_REGEX_TIMEOUT_SECONDS = 1
"""What vLLM has for it where the environment does not say."""


class TokenizerLike:
    """Names the tokenizer in annotations."""


class MistralTokenizer(TokenizerLike):
    """What vLLM wraps mistral-common's tokenizer in: no tokenizer of toolglot's is one."""


AnyTokenizer = TokenizerLike


class _Logger(logging.LoggerAdapter[logging.Logger]):
    """A logger with vLLM's methods for messages that are logged once."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__(logger, {})
        self._said: set[tuple[object, ...]] = set()

    def debug_once(self, message: str, *values: object) -> None:
        self._once(logging.DEBUG, message, *values)

    def info_once(self, message: str, *values: object) -> None:
        self._once(logging.INFO, message, *values)

    def warning_once(self, message: str, *values: object) -> None:
        self._once(logging.WARNING, message, *values)

    def _once(self, level: int, *message: object) -> None:
        if message not in self._said:
            self._said.add(message)
            self.log(level, *message)


def init_logger(name: str) -> _Logger:
    return _Logger(logging.getLogger(name))


def random_uuid() -> str:
    return uuid.uuid4().hex


def make_tool_call_id(id_type: str = "random", func_name: str | None = None, idx: int | None = None) -> str:
    """A new id; ``kimi_k2`` as the type makes Kimi's of the name and number of the call."""
    return f"functions.{func_name}:{idx}" if id_type == "kimi_k2" else f"chatcmpl-tool-{random_uuid()}"


def random_tool_call_id() -> str:
    return make_tool_call_id()


def find_common_prefix(s1: str, s2: str) -> str:
    differs = (place for place, (one, other) in enumerate(zip(s1, s2, strict=False)) if one != other)
    return s1[: next(differs, min(len(s1), len(s2)))]


def find_common_suffix(s1: str, s2: str) -> str:
    """The end that two texts share, back to the last letter or digit."""
    suffix = find_common_prefix(s1[::-1], s2[::-1])[::-1]
    return suffix[max((place + 1 for place, char in enumerate(suffix) if char.isalnum()), default=0) :]


def extract_intermediate_diff(curr: str, old: str) -> str:
    """What ``curr`` has between the beginning and the end that it shares with ``old``."""
    suffix = find_common_suffix(curr, old)
    grown, before = curr.removesuffix(suffix), old.removesuffix(suffix)
    return grown.removeprefix(find_common_prefix(grown, before))


def partial_tag_overlap(text: str, tag: str) -> int:
    """How many characters at the end of ``text`` may be the beginning of ``tag``."""
    lengths = range(min(len(text), len(tag) - 1), 0, -1)
    return next((length for length in lengths if text.endswith(tag[:length])), 0)


def consume_space(i: int, s: str) -> int:
    """The place of the first character from ``i`` on that is no whitespace."""
    return len(s) - len(s[i:].lstrip())


def is_complete_json(input_str: str) -> bool:
    try:
        json.loads(input_str)
    except ValueError:
        return False
    return True


def partial_json_loads(input_str: str, flags: Any) -> tuple[Any, int]:
    """A JSON value that may be cut, and how much of the text it takes; needs the package partial-json-parser."""
    parser = importlib.import_module("partial_json_parser")
    try:
        return parser.loads(input_str, flags), len(input_str)
    except json.JSONDecodeError as error:
        if "Extra data" not in error.msg:
            raise
        return json.JSONDecoder().raw_decode(input_str)


def safe_literal_eval(text: str) -> Any:
    return ast.literal_eval(text)


def find_tool_properties(tools: Sequence[Any] | None, tool_name: str) -> dict[str, Any]:
    """The properties in the parameters' schema of a tool; none where there is no such tool."""
    functions = [tool.function for tool in tools or () if tool.function.name == tool_name]
    found = (functions[0].parameters or {}).get("properties") if functions else None
    return found if isinstance(found, dict) else {}


def is_list_of(value: object, typ: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, typ) for one in value)


def is_mistral_tokenizer(tokenizer: object) -> bool:
    return isinstance(tokenizer, MistralTokenizer)
