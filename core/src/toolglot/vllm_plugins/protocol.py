"""The requests and messages of vLLM's OpenAI server, as its tool parsers see them."""

# ruff: noqa: RUF012  (a default is copied for each instance)

from __future__ import annotations

from typing import Any, Literal

from toolglot.vllm_plugins.helpers import make_tool_call_id
from toolglot.vllm_plugins.model import Model

__all__ = [
    "ChatCompletionNamedFunction",
    "ChatCompletionNamedToolChoiceParam",
    "ChatCompletionRequest",
    "ChatCompletionToolsParam",
    "DeltaFunctionCall",
    "DeltaMessage",
    "DeltaToolCall",
    "ExtractedToolCallInformation",
    "FunctionCall",
    "FunctionDefinition",
    "ResponsesRequest",
    "StructuredOutputsParams",
    "ToolCall",
]


class FunctionDefinition(Model):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ChatCompletionToolsParam(Model):
    type: str = "function"
    function: FunctionDefinition


class ChatCompletionNamedFunction(Model):
    name: str


class ChatCompletionNamedToolChoiceParam(Model):
    type: str = "function"
    function: ChatCompletionNamedFunction


class StructuredOutputsParams(Model):
    """Can be made and set; toolglot does not apply it."""


class ChatCompletionRequest(Model):
    messages: list[Any]
    model: str | None = None
    tools: list[ChatCompletionToolsParam] | None = None
    tool_choice: Literal["auto", "none", "required"] | ChatCompletionNamedToolChoiceParam | None = "none"
    parallel_tool_calls: bool | None = True
    chat_template_kwargs: dict[str, Any] | None = None
    skip_special_tokens: bool = True
    spaces_between_special_tokens: bool = True
    include_reasoning: bool = True
    stream: bool | None = False
    response_format: Any = None
    structured_outputs: Any = None


class ResponsesRequest(Model):
    """Only to be named in annotations and asked for: toolglot gives parsers chat requests."""


class FunctionCall(Model):
    name: str
    arguments: str


class ToolCall(Model):
    id: str
    type: str = "function"
    function: FunctionCall

    def __init__(self, **fields: Any) -> None:
        super().__init__(**{"id": make_tool_call_id(), **fields})


class ExtractedToolCallInformation(Model):
    tools_called: bool
    tool_calls: list[ToolCall]
    content: str | None = None


class DeltaFunctionCall(Model):
    name: str | None = None
    arguments: str | None = None


class DeltaToolCall(Model):
    index: int
    id: str | None = None
    type: str | None = None
    function: DeltaFunctionCall | None = None


class DeltaMessage(Model):
    role: str | None = None
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[DeltaToolCall] = []
