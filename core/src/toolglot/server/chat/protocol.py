"""Chat Completions as types: what a request may hold, and what a reply and its chunks look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from toolglot.server.extension import Extension

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls"]

StopString: TypeAlias = Annotated[str, Meta(min_length=1, max_length=1000)]


class FunctionSpec(Struct, frozen=True):
    """The ``function`` of a tool."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolSpec(Struct, frozen=True):
    """One of ``tools``."""

    type: str = "function"
    function: FunctionSpec | None = None


class StreamOptions(Struct, frozen=True):
    """``stream_options``."""

    include_usage: bool | None = None


class JsonSchemaSpec(Struct, frozen=True):
    """The ``json_schema`` of a response format."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    schema: dict[str, Any] | None = None
    description: str | None = None
    strict: bool | None = None


class ResponseFormatSpec(Struct, frozen=True):
    """``response_format``."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchemaSpec | None = None


class ChatRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/chat/completions``. ``null`` means the same as leaving a field out."""

    model: str
    messages: list[dict[str, Any]]
    tools: list[ToolSpec] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=-1, le=2**31)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    stop: StopString | Annotated[list[StopString], Meta(max_length=32)] | None = None
    ignore_eos: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    reasoning_effort: str | None = None
    include_reasoning: bool | None = None
    skip_special_tokens: bool | None = None
    response_format: ResponseFormatSpec | None = None


HARMLESS_ONLY: Mapping[str, tuple[Any, ...]] = {
    "add_generation_prompt": (True,),
    "audio": (),
    "bad_words": ([],),
    "best_of": (1,),
    "chat_template": (),
    "continue_final_message": (False,),
    "documents": ([],),
    "echo": (False,),
    "frequency_penalty": (0,),
    "function_call": ("none",),
    "functions": ([],),
    "guided_choice": (),
    "guided_grammar": (),
    "guided_json": (),
    "guided_regex": (),
    "include_stop_str_in_output": (False,),
    "length_penalty": (1,),
    "logit_bias": ({},),
    "logprobs": (False,),
    "min_tokens": (0,),
    "modalities": (["text"],),
    "n": (1,),
    "prediction": (),
    "presence_penalty": (0,),
    "prompt_logprobs": (),
    "repetition_penalty": (1,),
    "return_token_ids": (False,),
    "stop_token_ids": ([],),
    "structured_outputs": (),
    "top_logprobs": (0,),
    "use_beam_search": (False,),
    "web_search_options": (),
}
"""Fields that would change the reply and are not served, each with the values (besides null) that change nothing."""


class Usage(Struct, frozen=True):
    """Token counts. A stop token is not counted: it is no part of the reply."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class FunctionCall(Struct, frozen=True):
    """Name and arguments of a whole call."""

    name: str
    arguments: str


class ToolCall(Struct, frozen=True):
    """A whole call."""

    id: str
    function: FunctionCall
    type: Literal["function"] = "function"


class ReplyMessage(Struct, frozen=True):
    """The message of a whole reply."""

    content: str | None
    reasoning_content: str | UnsetType = UNSET
    reasoning: str | UnsetType = UNSET
    tool_calls: tuple[ToolCall, ...] | UnsetType = UNSET
    role: Literal["assistant"] = "assistant"
    refusal: None = None


class Choice(Struct, frozen=True):
    """The one choice of a whole reply."""

    message: ReplyMessage
    finish_reason: FinishReason
    toolglot: Extension | UnsetType = UNSET
    index: int = 0
    logprobs: None = None


class ChatCompletion(Struct, frozen=True):
    """A whole reply."""

    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage
    object: Literal["chat.completion"] = "chat.completion"


class FunctionDelta(Struct, frozen=True):
    """A piece of a call; the name comes once."""

    arguments: str
    name: str | UnsetType = UNSET


class ToolCallDelta(Struct, frozen=True):
    """A piece of the call at ``index``; id and type come once."""

    index: int
    function: FunctionDelta
    id: str | UnsetType = UNSET
    type: Literal["function"] | UnsetType = UNSET


class ReplyDelta(Struct, frozen=True):
    """What a chunk adds to the message."""

    role: Literal["assistant"] | UnsetType = UNSET
    content: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    reasoning: str | UnsetType = UNSET
    tool_calls: tuple[ToolCallDelta, ...] | UnsetType = UNSET


class ChunkChoice(Struct, frozen=True):
    """The one choice of a chunk."""

    delta: ReplyDelta
    finish_reason: FinishReason | None = None
    toolglot: Extension | UnsetType = UNSET
    index: int = 0
    logprobs: None = None


class Chunk(Struct, frozen=True):
    """One chunk of a streamed reply. ``usage`` is null until the last chunk, where it was asked for."""

    id: str
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]
    usage: Usage | UnsetType | None = UNSET
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
