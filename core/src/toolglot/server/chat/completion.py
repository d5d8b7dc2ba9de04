"""A message as the body of a reply that is not streamed."""

from __future__ import annotations

from msgspec import UNSET

from toolglot.events import Call, Message
from toolglot.server.chat.protocol import ChatCompletion, Choice, FunctionCall, ReplyMessage, ToolCall
from toolglot.server.chat.reply import Reply, finish_reason, usage
from toolglot.server.generation import Generation


def completion(reply: Reply, message: Message, generation: Generation) -> ChatCompletion:
    """The whole reply in OpenAI's form."""
    choice = Choice(
        _message(message, reply.include_reasoning),
        finish_reason(generation.finish, len(message.tool_calls)),
        reply.extension(generation),
    )
    return ChatCompletion(reply.id, reply.created, reply.model, (choice,), usage(generation))


def _message(message: Message, include_reasoning: bool) -> ReplyMessage:
    reasoning = (message.reasoning or UNSET) if include_reasoning else UNSET
    calls = tuple(_tool_call(call) for call in message.tool_calls)
    return ReplyMessage(message.content, reasoning, reasoning, calls or UNSET)


def _tool_call(call: Call) -> ToolCall:
    return ToolCall(call.id, FunctionCall(call.name, call.arguments))
