"""Chat Completions as types: what a request may hold, and what a reply and its chunks look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from toolglot.server.chat.turns import Turn
from toolglot.server.choice_schema import ChatToolChoice, FunctionType
from toolglot.server.extension import Extension
from toolglot.server.sampling_fields import SamplingFields

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls"]


class FunctionSpec(Struct, frozen=True):
    """The ``function`` of a tool."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolSpec(Struct, frozen=True):
    """One of ``tools``."""

    type: FunctionType = "function"
    function: FunctionSpec | None = None


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


class AllowedTools(Struct, frozen=True):
    """The ``allowed_tools`` of :class:`AllowedToolsChoice`."""

    mode: Literal["auto", "required"]
    tools: list[ToolSpec]


class AllowedToolsChoice(Struct, frozen=True):
    """A ``tool_choice`` that allows some of the tools."""

    allowed_tools: AllowedTools


class ChatRequest(SamplingFields, frozen=True, kw_only=True):
    """The body of ``POST /v1/chat/completions``."""

    model: str
    messages: list[Turn]
    tools: list[ToolSpec] | None = None
    tool_choice: ChatToolChoice = None
    parallel_tool_calls: bool | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    reasoning_effort: str | None = None
    include_reasoning: bool | None = None
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
    "function_call": ("none",),
    "functions": ([],),
    "guided_choice": (),
    "guided_grammar": (),
    "guided_json": (),
    "guided_regex": (),
    "length_penalty": (1,),
    "modalities": (["text"],),
    "prompt_logprobs": (),
    "structured_outputs": (),
    "use_beam_search": (False,),
    "web_search_options": (),
}
"""Fields that would change the reply and are not served, each with the values (besides null) that change nothing."""


class PromptTokensDetails(Struct, frozen=True):
    """``cached_tokens`` are those of the prompt that the engine knew from earlier requests."""

    cached_tokens: int


class Usage(Struct, frozen=True):
    """Token counts. A stop token is not counted: it is no part of the reply."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails


class TopLogprob(Struct, frozen=True):
    """A token that could have stood there. ``bytes`` is exact; ``token`` is the same as text, as far as it is UTF-8."""

    token: str
    logprob: float
    bytes: tuple[int, ...]


class TokenLogprob(Struct, frozen=True):
    """A token of the content, with the most probable ones."""

    token: str
    logprob: float
    bytes: tuple[int, ...]
    top_logprobs: tuple[TopLogprob, ...]


class Logprobs(Struct, frozen=True):
    """How probable the tokens of the content were."""

    content: tuple[TokenLogprob, ...]
    refusal: None = None


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
    """One of the replies to a request."""

    index: int
    message: ReplyMessage
    finish_reason: FinishReason
    toolglot: Extension | UnsetType = UNSET
    logprobs: Logprobs | None = None
    token_ids: tuple[int, ...] | UnsetType = UNSET


class ChatCompletion(Struct, frozen=True):
    """The whole answer to a request."""

    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage
    prompt_token_ids: tuple[int, ...] | UnsetType = UNSET
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
    """The one choice of a chunk. ``token_ids`` are those since the last chunk of the same choice."""

    index: int
    delta: ReplyDelta
    finish_reason: FinishReason | None = None
    toolglot: Extension | UnsetType = UNSET
    logprobs: Logprobs | None = None
    token_ids: tuple[int, ...] | UnsetType = UNSET


class Chunk(Struct, frozen=True):
    """One chunk of a stream. Where ``usage`` was asked for, it is null until the last chunk, or is in every one."""

    id: str
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]
    usage: Usage | UnsetType | None = UNSET
    prompt_token_ids: tuple[int, ...] | UnsetType = UNSET
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
