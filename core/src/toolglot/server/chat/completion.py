"""Messages as the body of an answer that is not streamed."""

from __future__ import annotations

from msgspec import UNSET

from toolglot.events import Call, Message
from toolglot.server.chat.protocol import ChatCompletion, Choice, FunctionCall, ReplyMessage, ToolCall
from toolglot.server.chat.reply import Reply
from toolglot.server.generation import Generation


def completion(reply: Reply) -> ChatCompletion:
    """The whole answer in OpenAI's form; all generations have ended."""
    choices = tuple(_choice(reply, index, generation) for index, generation in enumerate(reply.generations))
    return ChatCompletion(reply.id, reply.created, reply.model, choices, reply.usage(), reply.prompt_token_ids)


def _choice(reply: Reply, index: int, generation: Generation) -> Choice:
    return Choice(
        index,
        _message(generation.message, reply.include_reasoning),
        reply.finish_reason(generation),
        reply.extension(generation),
        reply.logprobs(generation, generation.message.content),
        reply.token_ids(generation),
    )


def _message(message: Message, include_reasoning: bool) -> ReplyMessage:
    reasoning = (message.reasoning or UNSET) if include_reasoning else UNSET
    calls = tuple(_tool_call(call) for call in message.tool_calls)
    return ReplyMessage(message.content, reasoning, reasoning, calls or UNSET)


def _tool_call(call: Call) -> ToolCall:
    return ToolCall(call.id, FunctionCall(call.name, call.arguments))
