"""The Messages API as types: what a request may hold, and what a reply and its events look like."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from toolglot.server.extension import CallNote, Extension

StopReason: TypeAlias = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use", "model_context_window_exceeded"]


class TextParam(Struct, frozen=True, tag="text"):
    """Text, in any message."""

    text: str


class OnlyTextParam(Struct, frozen=True):
    """Text, where there is nothing else. ``type`` is no tag: where a struct stands alone, one may be left out."""

    type: Literal["text"]
    text: str


class ThinkingParam(Struct, frozen=True, tag="thinking"):
    """Reasoning of an earlier reply."""

    thinking: str


class RedactedThinkingParam(Struct, frozen=True, tag="redacted_thinking"):
    """Reasoning that only another server can read."""

    data: str


class ToolUseParam(Struct, frozen=True, tag="tool_use"):
    """A call in an earlier reply. ``input`` is an object, or the text that the model wrote for one."""

    id: str
    name: Annotated[str, Meta(min_length=1)]
    input: Any = None


class ToolResultParam(Struct, frozen=True, tag="tool_result"):
    """What a call came to."""

    tool_use_id: str
    content: str | list[OnlyTextParam] | None = None
    is_error: bool | None = None


UserBlock: TypeAlias = TextParam | ToolResultParam
AssistantBlock: TypeAlias = TextParam | ThinkingParam | RedactedThinkingParam | ToolUseParam
BlockParam: TypeAlias = UserBlock | AssistantBlock | OnlyTextParam
"""A content block of a request."""


class UserParam(Struct, frozen=True, tag_field="role", tag="user"):
    """One of ``messages``: the user's text, and what calls came to."""

    content: str | list[UserBlock]


class AssistantParam(Struct, frozen=True, tag_field="role", tag="assistant"):
    """One of ``messages``: an earlier reply."""

    content: str | list[AssistantBlock]


class SystemParam(Struct, frozen=True, tag_field="role", tag="system"):
    """One of ``messages``: instructions within the conversation."""

    content: str | list[OnlyTextParam]


MessageParam: TypeAlias = UserParam | AssistantParam | SystemParam


class ToolParam(Struct, frozen=True):
    """One of ``tools``. There are none here that the server itself runs."""

    name: str
    input_schema: dict[str, Any]
    type: Literal["custom"] | None = None
    description: str | None = None
    strict: bool | None = None
    input_examples: list[dict[str, Any]] | None = None
    allowed_callers: list[str] | None = None


class _ToolChoice(Struct, frozen=True, kw_only=True):
    disable_parallel_tool_use: bool | None = None


class ChooseAuto(_ToolChoice, frozen=True, tag="auto"):
    """The model may call."""


class ChooseAny(_ToolChoice, frozen=True, tag="any"):
    """The model calls some tool."""


class ChooseTool(_ToolChoice, frozen=True, tag="tool"):
    """The model calls this tool."""

    name: str


class ChooseNone(_ToolChoice, frozen=True, tag="none"):
    """The model does not call."""


ToolChoiceParam: TypeAlias = ChooseAuto | ChooseAny | ChooseTool | ChooseNone


class ThinkingConfig(Struct, frozen=True):
    """``thinking``."""

    type: Literal["enabled", "adaptive", "between_tools", "disabled"]
    budget_tokens: int | None = None
    display: Literal["summarized", "omitted"] | None = None


class OutputFormat(Struct, frozen=True, rename={"json_schema": "schema"}):
    """The ``format`` of ``output_config``."""

    type: Literal["json_schema"]
    json_schema: dict[str, Any]


class OutputConfig(Struct, frozen=True):
    """``output_config``."""

    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: OutputFormat | None = None


class CountTokensRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /v1/messages/count_tokens``. ``null`` means the same as leaving a field out."""

    model: str
    messages: list[MessageParam]
    system: str | list[OnlyTextParam] | None = None
    tools: list[ToolParam] | None = None
    tool_choice: ToolChoiceParam | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    output_format: OutputFormat | None = None
    """The earlier place of ``output_config.format``."""
    chat_template_kwargs: dict[str, Any] | None = None
    """Not Anthropic's: arguments of the chat template."""


class MessagesRequest(CountTokensRequest, frozen=True, kw_only=True):
    """The body of ``POST /v1/messages``."""

    max_tokens: Annotated[int, Meta(ge=1, le=2**53)]
    stream: bool | None = None
    stop_sequences: Annotated[list[Annotated[str, Meta(min_length=1, max_length=1000)]], Meta(max_length=32)] | None = (
        None
    )
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    metadata: dict[str, Any] | None = None
    service_tier: Literal["auto", "standard_only"] | None = None


class TextBlock(Struct, frozen=True, tag="text"):
    """A run of text."""

    text: str
    citations: None = None


class ThinkingBlock(Struct, frozen=True, tag="thinking"):
    """A run of reasoning. The signature is always empty: nothing is signed here."""

    thinking: str
    signature: str = ""


class ToolUseBlock(Struct, frozen=True, tag="tool_use"):
    """A call."""

    id: str
    name: str
    input: dict[str, Any]


Block: TypeAlias = TextBlock | ThinkingBlock | ToolUseBlock
"""A content block of a reply."""


class Usage(Struct, frozen=True):
    """Token counts. A stop token is not counted: it is no part of the reply. ``cache_read_input_tokens`` are those of
    the prompt that the engine knew from earlier requests; ``input_tokens`` are the others.
    """

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class InputNote(CallNote, frozen=True):
    """How one call ended."""

    input: str | UnsetType = UNSET
    """What the model wrote for the arguments, where that is no JSON object."""


class MessageExtension(Extension, frozen=True):
    """The member ``toolglot`` of a reply."""

    calls: tuple[InputNote, ...]


class Message(Struct, frozen=True, tag="message", kw_only=True):
    """A whole reply; in ``message_start``, one that has not begun."""

    id: str
    model: str
    content: tuple[Block, ...]
    stop_reason: StopReason | None
    stop_sequence: str | None
    usage: Usage
    toolglot: MessageExtension | UnsetType = UNSET
    role: Literal["assistant"] = "assistant"


class TokensCount(Struct, frozen=True):
    """The reply of ``POST /v1/messages/count_tokens``."""

    input_tokens: int


class MessageStart(Struct, frozen=True, tag="message_start"):
    """A reply begins."""

    message: Message


class Ping(Struct, frozen=True, tag="ping"):
    """Nothing has happened."""


class TextDelta(Struct, frozen=True, tag="text_delta"):
    """More text."""

    text: str


class ThinkingDelta(Struct, frozen=True, tag="thinking_delta"):
    """More reasoning."""

    thinking: str


class SignatureDelta(Struct, frozen=True, tag="signature_delta"):
    """The signature of the reasoning before it."""

    signature: str


class InputJsonDelta(Struct, frozen=True, tag="input_json_delta"):
    """More of a call's arguments, as JSON text."""

    partial_json: str


class ContentBlockStart(Struct, frozen=True, tag="content_block_start"):
    """A block begins, empty."""

    index: int
    content_block: Block


class ContentBlockDelta(Struct, frozen=True, tag="content_block_delta"):
    """A block goes on."""

    index: int
    delta: TextDelta | ThinkingDelta | SignatureDelta | InputJsonDelta


class ContentBlockStop(Struct, frozen=True, tag="content_block_stop"):
    """A block is complete."""

    index: int


BlockEvent: TypeAlias = ContentBlockStart | ContentBlockDelta | ContentBlockStop


class Stop(Struct, frozen=True):
    """Why a reply ended."""

    stop_reason: StopReason
    stop_sequence: str | None


class MessageDelta(Struct, frozen=True, tag="message_delta"):
    """A reply has ended; the counts are those of all of it."""

    delta: Stop
    usage: Usage
    toolglot: MessageExtension | UnsetType = UNSET


class MessageStop(Struct, frozen=True, tag="message_stop"):
    """The last event."""
