"""Every route as its API describes it: what it takes, and what it answers."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from toolglot.server.chat.protocol import ChatCompletion, ChatRequest, Chunk
from toolglot.server.errors import ErrorBody
from toolglot.server.messages.errors import ErrorBody as AnthropicErrorBody
from toolglot.server.messages.models import ModelInfo, ModelPage
from toolglot.server.messages.protocol import (
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    CountTokensRequest,
    Message,
    MessageDelta,
    MessagesRequest,
    MessageStart,
    MessageStop,
    Ping,
    TokensCount,
)
from toolglot.server.models import ModelCard, ModelList
from toolglot.server.offline.protocol import ParseAnswer, ParseRequest
from toolglot.server.responses import events
from toolglot.server.responses.protocol import Deleted, InputTokens, InputTokensRequest, ItemList, ResponsesRequest
from toolglot.server.responses.protocol import Response as ResponseObject
from toolglot.server.status import Status, Version
from toolglot.server.text.protocol import (
    Completion,
    CompletionRequest,
    DetokenizeAnswer,
    DetokenizeRequest,
    TokenizeAnswer,
    TokenizeRequest,
)

Method: TypeAlias = Literal["get", "post", "delete"]

MESSAGE_EVENTS = (
    MessageStart | Ping | ContentBlockStart | ContentBlockDelta | ContentBlockStop | MessageDelta | MessageStop
)
RESPONSE_EVENTS = (
    events.Created
    | events.InProgress
    | events.ItemAdded
    | events.PartAdded
    | events.TextDelta
    | events.TextDone
    | events.ReasoningTextDelta
    | events.ReasoningTextDone
    | events.CallArgumentsDelta
    | events.CallArgumentsDone
    | events.PartDone
    | events.ItemDone
    | events.Completed
    | events.Incomplete
    | events.Failed
    | events.Error
)
EITHER_ERROR = (ErrorBody, AnthropicErrorBody)


class Operation(Struct, frozen=True):
    """One method of one path. The types are those that bodies are read into and written from; several in a tuple are
    alternatives.
    """

    method: Method
    path: str
    """With its parameters in braces; each is a string."""
    summary: str
    body: Any = None
    reply: Any = None
    """None: plain text."""
    event: Any = None
    """The data of each server-sent event, where the body's ``stream`` asks for them."""
    last_data: str | None = None
    """The data of the last event, where it is no JSON."""
    error: Any = ErrorBody


OPERATIONS = (
    Operation(
        "post",
        "/v1/chat/completions",
        "OpenAI's Chat Completions",
        body=ChatRequest,
        reply=ChatCompletion,
        event=(Chunk, ErrorBody),
        last_data="[DONE]",
    ),
    Operation(
        "post",
        "/v1/completions",
        "OpenAI's Completions",
        body=CompletionRequest,
        reply=Completion,
        event=(Completion, ErrorBody),
        last_data="[DONE]",
    ),
    Operation(
        "post",
        "/v1/responses",
        "OpenAI's Responses",
        body=ResponsesRequest,
        reply=ResponseObject,
        event=RESPONSE_EVENTS,
    ),
    Operation(
        "post",
        "/v1/responses/input_tokens",
        "How many tokens a request to Responses has",
        body=InputTokensRequest,
        reply=InputTokens,
    ),
    Operation("get", "/v1/responses/{id}", "A stored response", reply=ResponseObject),
    Operation("delete", "/v1/responses/{id}", "Delete a stored response", reply=Deleted),
    Operation("post", "/v1/responses/{id}/cancel", "Cancel a response in the background", reply=ResponseObject),
    Operation("get", "/v1/responses/{id}/input_items", "What a stored response answers", reply=ItemList),
    Operation(
        "post",
        "/v1/messages",
        "Anthropic's Messages",
        body=MessagesRequest,
        reply=Message,
        event=(MESSAGE_EVENTS, AnthropicErrorBody),
        error=AnthropicErrorBody,
    ),
    Operation(
        "post",
        "/v1/messages/count_tokens",
        "How many tokens a request to Messages has",
        body=CountTokensRequest,
        reply=TokensCount,
        error=AnthropicErrorBody,
    ),
    Operation(
        "post",
        "/v1/toolglot/parse",
        "Read an output that was generated elsewhere",
        body=ParseRequest,
        reply=ParseAnswer,
    ),
    Operation(
        "post", "/tokenize", "The tokens of a text or a conversation", body=TokenizeRequest, reply=TokenizeAnswer
    ),
    Operation("post", "/detokenize", "The text of tokens", body=DetokenizeRequest, reply=DetokenizeAnswer),
    Operation("get", "/v1/models", "The served names", reply=(ModelList, ModelPage), error=EITHER_ERROR),
    Operation("get", "/v1/models/{name}", "One served name", reply=(ModelCard, ModelInfo), error=EITHER_ERROR),
    Operation("get", "/health", "Whether the process does its work", reply=Status),
    Operation("get", "/ready", "Whether it takes on requests", reply=Status),
    Operation("get", "/metrics", "Prometheus metrics"),
    Operation("get", "/version", "The version of toolglot", reply=Version),
)
