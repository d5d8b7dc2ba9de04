"""The base class of vLLM's tool parsers, and the place where they are registered."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from toolglot.vllm_plugins.protocol import (
    ChatCompletionRequest,
    ChatCompletionToolsParam,
    DeltaMessage,
    ExtractedToolCallInformation,
)

__all__ = ["Tool", "ToolParser", "ToolParserManager"]

Tool = ChatCompletionToolsParam
P = TypeVar("P", bound="type[ToolParser]")


class ToolParser:
    """Subclasses write the methods that they need."""

    supports_required_and_named: bool = True
    structural_tag_model: str | None = None

    def __init__(self, tokenizer: Any, tools: list[Tool] | None = None) -> None:
        self.prev_tool_call_arr: list[dict[str, Any]] = []
        self.current_tool_id: int = -1
        self.current_tool_name_sent: bool = False
        self.streamed_args_for_tool: list[str] = []
        self.model_tokenizer = tokenizer
        self.tools: list[Tool] = list(tools or ())

    @cached_property
    def vocab(self) -> dict[str, int]:
        vocabulary: dict[str, int] = self.model_tokenizer.get_vocab()
        return vocabulary

    def adjust_request(self, request: ChatCompletionRequest) -> ChatCompletionRequest:
        return request

    def extract_tool_calls(self, model_output: str, request: ChatCompletionRequest) -> ExtractedToolCallInformation:
        raise NotImplementedError

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: ChatCompletionRequest,
    ) -> DeltaMessage | None:
        raise NotImplementedError

    def get_remaining_unstreamed_args(self) -> str:
        """What the last call's arguments have beyond what was streamed of them."""
        if not self.prev_tool_call_arr:
            return ""
        last = len(self.prev_tool_call_arr) - 1
        arguments = self.prev_tool_call_arr[last].get("arguments", {})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        sent = "".join(self.streamed_args_for_tool[last : last + 1])
        return text.removeprefix(sent) if text.startswith(sent) else ""


class ToolParserManager:
    """Knows the parsers by name: a class, or the names of a module and of a class in it."""

    tool_parsers: ClassVar[dict[str, type[ToolParser]]] = {}
    lazy_parsers: ClassVar[dict[str, tuple[str, str]]] = {}

    @classmethod
    def register_module(
        cls, name: str | list[str] | None = None, force: bool = True, module: P | None = None
    ) -> P | Callable[[P], P]:
        """Register the class ``module`` by one name or several; without it, decorate a class."""

        def register(parser: P) -> P:
            names = [name] if isinstance(name, str) else name or [parser.__name__]
            for one in names:
                if not force and one in cls.list_registered():
                    raise KeyError(f"{one} is already registered")
                cls.tool_parsers[one] = parser
            return parser

        return register if module is None else register(module)

    @classmethod
    def register_lazy_module(cls, name: str, module_path: str, class_name: str) -> None:
        cls.lazy_parsers[name] = (module_path, class_name)

    @classmethod
    def get_tool_parser(cls, name: str) -> type[ToolParser]:
        """Raises KeyError where no file has registered the name."""
        if name in cls.tool_parsers:
            return cls.tool_parsers[name]
        if name not in cls.lazy_parsers:
            raise KeyError(f"no tool parser {name!r} is registered")
        module_path, class_name = cls.lazy_parsers[name]
        found: type[ToolParser] = getattr(importlib.import_module(module_path), class_name)
        return found

    @classmethod
    def list_registered(cls) -> list[str]:
        return sorted({*cls.tool_parsers, *cls.lazy_parsers})
