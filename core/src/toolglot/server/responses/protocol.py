"""Responses as types: what a request may hold, and what a response looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from toolglot.server.chat.protocol import TokenLogprob
from toolglot.server.choice_schema import FunctionType, ResponsesToolChoice
from toolglot.server.extension import Extension

Metadata: TypeAlias = Annotated[
    dict[Annotated[str, Meta(max_length=64)], Annotated[str, Meta(max_length=512)]], Meta(max_length=16)
]
Summary: TypeAlias = Literal["auto", "concise", "detailed"]
Verbosity: TypeAlias = Literal["low", "medium", "high"]
Truncation: TypeAlias = Literal["auto", "disabled"]


class FunctionTool(Struct, frozen=True):
    """One of ``tools``. Without ``strict`` it is as strict as it can be."""

    type: FunctionType = "function"
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class TextFormat(Struct, frozen=True):
    """``text.format``."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    name: Annotated[str, Meta(min_length=1, max_length=64)] | UnsetType = UNSET
    schema: dict[str, Any] | UnsetType = UNSET
    description: str | UnsetType | None = UNSET
    strict: bool | UnsetType | None = UNSET


class TextConfig(Struct, frozen=True):
    """``text``. ``verbosity`` changes nothing."""

    format: TextFormat | None = None
    verbosity: Verbosity | None = None


class ReasoningConfig(Struct, frozen=True):
    """``reasoning``. No summary is made, whichever is asked for: the reasoning itself is shown."""

    effort: str | None = None
    summary: Summary | None = None
    generate_summary: Summary | None = None


class StreamOptions(Struct, frozen=True):
    """``stream_options``."""

    include_obfuscation: Literal[False] | None = None


class AllowedTool(Struct, frozen=True):
    """A tool of :class:`AllowedTools`."""

    type: FunctionType = "function"
    name: str | None = None


class AllowedTools(Struct, frozen=True):
    """A ``tool_choice`` that allows some of the tools."""

    tools: list[AllowedTool]
    mode: Literal["auto", "required"]
    type: Literal["allowed_tools"] = "allowed_tools"


class InputTokensRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/responses/input_tokens``. ``null`` means the same as leaving a field out."""

    model: str | None = None
    input: str | list[dict[str, Any]] | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    tools: list[FunctionTool] | None = None
    tool_choice: ResponsesToolChoice = None
    parallel_tool_calls: bool | None = None
    text: TextConfig | None = None
    reasoning: ReasoningConfig | None = None
    truncation: Truncation | None = None
    chat_template_kwargs: dict[str, Any] | None = None


class ResponsesRequest(InputTokensRequest, frozen=True, kw_only=True):
    """The body of ``POST /v1/responses``."""

    model: str
    store: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_output_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_tool_calls: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=-1, le=2**31)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    include: list[str] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    metadata: Metadata | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None

    def includes(self, name: str) -> bool:
        """Whether ``include`` names it."""
        return name in (self.include or ())


ENCRYPTED_REASONING = "reasoning.encrypted_content"
LOGPROBS = "message.output_text.logprobs"
INCLUDABLE = frozenset(
    {
        ENCRYPTED_REASONING,
        LOGPROBS,
        "file_search_call.results",
        "web_search_call.results",
        "web_search_call.action.sources",
        "message.input_image.image_url",
        "computer_call_output.output.image_url",
        "code_interpreter_call.outputs",
    }
)
"""What ``include`` may name. All but the first two are of items that no reply here holds."""

HARMLESS_ONLY: Mapping[str, tuple[Any, ...]] = {
    "background": (False,),
    "context_management": ([],),
    "conversation": (),
    "frequency_penalty": (0,),
    "functions": ([],),
    "function_call": ("none",),
    "logit_bias": ({},),
    "logprobs": (False,),
    "max_completion_tokens": (),
    "max_tokens": (),
    "messages": (),
    "moderation": (),
    "n": (1,),
    "presence_penalty": (0,),
    "prompt": (),
    "reasoning_effort": (),
    "repetition_penalty": (1,),
    "response_format": (),
    "stop": ([],),
    "structured_outputs": (),
}
"""Fields that would change the reply and are not served, each with the values (besides null) that change nothing. Some
are fields of Chat Completions, which have another place here."""


class InputTokensDetails(Struct, frozen=True):
    """``cached_tokens`` are those of the prompt that the engine knew from earlier requests."""

    cached_tokens: int
    cache_write_tokens: int = 0


class OutputTokensDetails(Struct, frozen=True):
    """``reasoning_tokens`` has the markers of reasoning too, but for the closing one before a call."""

    reasoning_tokens: int


class Usage(Struct, frozen=True):
    """Token counts. A stop token is not counted: it is no part of the reply."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    output_tokens_details: OutputTokensDetails
    input_tokens_details: InputTokensDetails


ItemStatus: TypeAlias = Literal["in_progress", "completed", "incomplete"]


class OutputText(Struct, frozen=True, tag_field="type", tag="output_text"):
    """The text of a message."""

    text: str
    logprobs: tuple[TokenLogprob, ...] = ()
    annotations: tuple[()] = ()


class ReasoningText(Struct, frozen=True, tag_field="type", tag="reasoning_text"):
    """The text of reasoning."""

    text: str


class OutputMessage(Struct, frozen=True, tag_field="type", tag="message"):
    """A message of the model."""

    id: str
    status: ItemStatus
    content: tuple[OutputText, ...] = ()
    role: Literal["assistant"] = "assistant"


class OutputReasoning(Struct, frozen=True, tag_field="type", tag="reasoning"):
    """Reasoning of the model. ``encrypted_content`` is there where the request includes it."""

    id: str
    status: ItemStatus
    content: tuple[ReasoningText, ...] = ()
    summary: tuple[()] = ()
    encrypted_content: str | UnsetType = UNSET


class OutputCall(Struct, frozen=True, tag_field="type", tag="function_call"):
    """A call of the model; one that was cut is ``incomplete``."""

    id: str
    status: ItemStatus
    call_id: str
    name: str
    arguments: str


OutputItem: TypeAlias = OutputMessage | OutputReasoning | OutputCall


class IncompleteDetails(Struct, frozen=True):
    """Why a response is incomplete."""

    reason: Literal["max_output_tokens"] = "max_output_tokens"


class ResponseError(Struct, frozen=True):
    """Why a response failed."""

    code: Literal["server_error", "rate_limit_exceeded"]
    message: str


class EchoedText(Struct, frozen=True):
    """``text``: the format that the reply was held to, and the verbosity that was asked for."""

    format: TextFormat
    verbosity: Verbosity


class EchoedTool(Struct, frozen=True):
    """A tool as it was offered."""

    name: str
    description: str | None
    parameters: Mapping[str, Any] | None
    strict: bool
    type: Literal["function"] = "function"


class EchoedReasoning(Struct, frozen=True):
    """``reasoning`` as it was asked for."""

    effort: str | None = None
    summary: Summary | None = None


class Response(Struct, frozen=True, kw_only=True):
    """A response."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    """Seconds since 1970."""
    status: Literal["in_progress", "completed", "incomplete", "failed"] = "in_progress"
    background: Literal[False] = False
    completed_at: int | None = None
    error: ResponseError | None = None
    incomplete_details: IncompleteDetails | None = None
    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    model: str
    output: tuple[OutputItem, ...] = ()
    parallel_tool_calls: bool
    previous_response_id: str | None
    prompt_cache_key: str | None
    reasoning: EchoedReasoning
    safety_identifier: str | None
    service_tier: Literal["default"] = "default"
    store: bool
    temperature: float
    text: EchoedText
    tool_choice: Any
    tools: tuple[EchoedTool, ...]
    top_logprobs: int
    top_p: float
    truncation: Truncation
    usage: Usage | None = None
    user: str | None
    metadata: Mapping[str, str] = field(default_factory=dict)
    toolglot: Extension | UnsetType = UNSET


class InputTokens(Struct, frozen=True):
    """The body of the answer to ``POST /v1/responses/input_tokens``."""

    input_tokens: int
    object: Literal["response.input_tokens"] = "response.input_tokens"


class Deleted(Struct, frozen=True):
    """The body of ``DELETE /v1/responses/{id}``."""

    id: str
    object: Literal["response"] = "response"
    deleted: Literal[True] = True


class ItemList(Struct, frozen=True):
    """The body of ``GET /v1/responses/{id}/input_items``."""

    data: tuple[Raw, ...]
    first_id: str
    last_id: str
    has_more: bool
    object: Literal["list"] = "list"
