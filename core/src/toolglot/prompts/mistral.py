"""From a request to a prompt by mistral-common's rules, without a chat template.

Importing this module needs mistral-common.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.chunk import TextChunk, ThinkChunk
from mistral_common.protocol.instruct.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.tool_calls import Function, FunctionCall, ToolCall
from mistral_common.protocol.instruct.tool_calls import Tool as OfferedTool
from pydantic import ValidationError

from toolglot.errors import RequestError
from toolglot.prompts.call_ids import NineCharacterIds
from toolglot.prompts.encoding import require_room
from toolglot.prompts.renderer import Prompt
from toolglot.requests import Request, Tool
from toolglot.tokens.mistral import MistralTokenizer
from toolglot.vocabulary import added_tokens

_HELLO = {"role": "user", "content": "Hello"}
_ALWAYS_WRITTEN = ("system", "user")
"""Roles whose messages each version writes; earlier calls and their results some leave out."""
_FIRST_WITH_THINK_TOKENS = 13
_FIRST_WITH_SETTINGS = 15
_REFUSALS = (MistralCommonException, ValueError, AssertionError, RecursionError)
"""What mistral-common raises for a conversation that it does not take."""


class MistralRenderer:
    """Renders requests with a tokenizer of mistral-common.

    It encodes each text by itself, so no text of a request becomes a control token. Of ``chat_template_kwargs`` it
    knows ``reasoning_effort``, from v15 on; as with a template, others have no effect.
    """

    def __init__(self, tokenizer: MistralTokenizer) -> None:
        self._tokenizer = tokenizer
        self._markers = added_tokens(tokenizer)
        self._thinks = tokenizer.version >= _FIRST_WITH_THINK_TOKENS and "[THINK]" in self._markers

    @property
    def template(self) -> str:
        """The markers that prompts are made of: what a chat template would mention."""
        return "\n".join(self._markers)

    def render(self, request: Request, *, most_tokens: int | None = None) -> Prompt:
        """The prompt for a request whose messages are as :func:`~toolglot.prompts.read_messages` returns them.

        The ids of calls and results become ones of nine letters or digits. Reasoning of earlier turns is written where
        the tokenizer has tokens for it (from v13 on), and left out elsewhere.

        Raises:
            RequestError: mistral-common refuses the request; ``param`` is the message, tool or field at fault.
            PromptTooLongError: what system and users say is more than ``most_tokens`` tokens by itself.
        """
        _require_unicode(request)
        if most_tokens is not None:
            said = [message["content"] for message in request.messages if message["role"] in _ALWAYS_WRITTEN]
            require_room(said, partial(self._tokenizer.encode, add_special_tokens=False), most_tokens)
        try:
            tokens = self._encode(request)
        except _REFUSALS as error:
            message = f"the model's tokenizer (v{self._tokenizer.version}) cannot take this request: {_reason(error)}"
            raise RequestError(message, param=self._fault(request)) from error
        return Prompt(self._tokenizer.decode(tokens), tuple(tokens))

    def _encode(self, request: Request) -> list[int]:
        if request.templated_tools and "[AVAILABLE_TOOLS]" not in self._markers:
            raise ValueError("it has no tools")
        chat = ChatCompletionRequest(
            messages=self._messages(request.messages),
            tools=[_tool(tool) for tool in request.templated_tools] or None,
            **self._settings(request),
        )
        tokens: list[int] = self._tokenizer.chat.encode_chat_completion(chat).tokens
        return tokens

    def _settings(self, request: Request) -> dict[str, Any]:
        effort = request.chat_template_kwargs.get("reasoning_effort")
        known = self._tokenizer.version >= _FIRST_WITH_SETTINGS and effort is not None
        return {"reasoning_effort": effort} if known else {}

    def _messages(self, messages: Sequence[Mapping[str, Any]]) -> list[Any]:
        ids = NineCharacterIds()
        return [self._message(message, number, ids) for number, message in enumerate(messages)]

    def _message(self, message: Mapping[str, Any], number: int, ids: NineCharacterIds) -> Any:
        match message["role"]:
            case "system":
                return SystemMessage(content=message["content"])
            case "user":
                return UserMessage(content=message["content"])
            case "tool":
                name, call_id = message.get("name"), ids(message["tool_call_id"])
                return ToolMessage(content=message["content"], tool_call_id=call_id, name=name)
            case _:
                calls = message.get("tool_calls", ())
                made = [_call(call, ids(call.get("id", f"{number}.{at}"))) for at, call in enumerate(calls)]
                return AssistantMessage(content=self._content(message), tool_calls=made or None)

    def _content(self, message: Mapping[str, Any]) -> Any:
        """What an assistant message says; never nothing, beside no calls."""
        content, reasoning = message.get("content"), message.get("reasoning_content")
        if reasoning and self._thinks:
            return [ThinkChunk(thinking=reasoning), *([TextChunk(text=content)] if content else ())]
        if not content and not message.get("tool_calls"):
            raise ValueError("an assistant message needs `content` or `tool_calls`")
        return content

    def _fault(self, request: Request) -> str:
        """The field of a refused request that is at fault: the first that is refused also by itself."""
        hello = Request(messages=(_HELLO,))
        if not self._takes(msgspec.structs.replace(hello, chat_template_kwargs=request.chat_template_kwargs)):
            return "reasoning_effort"
        for number, tool in enumerate(request.templated_tools):
            if not self._takes(msgspec.structs.replace(hello, tools=(tool,))):
                return f"tools[{number}].function"
        return f"messages[{self._faulty_message(request.messages)}]"

    def _faulty_message(self, messages: tuple[Mapping[str, Any], ...]) -> int:
        """The message that makes a conversation one that is refused even with a user's message after it."""

        def refuses(last: int) -> bool:
            return not self._takes(Request(messages=(*messages[: last + 1], _HELLO)))

        refused = bisect_left(range(len(messages)), True, key=refuses)
        return min(refused, len(messages) - 1)

    def _takes(self, request: Request) -> bool:
        try:
            self._encode(request)
        except _REFUSALS:
            return False
        return True


def _tool(tool: Tool) -> OfferedTool:
    function = tool.to_openai()["function"]
    return OfferedTool(function=Function(**function))


def _call(call: Mapping[str, Any], call_id: str) -> ToolCall:
    function = call["function"]
    return ToolCall(id=call_id, function=FunctionCall(name=function["name"], arguments=function["arguments"]))


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return error.errors()[0]["msg"]
    return str(error) or type(error).__name__


def _require_unicode(request: Request) -> None:
    try:
        msgspec.json.encode((request.messages, request.templated_tools))
    except UnicodeEncodeError as error:
        raise RequestError(f"the request holds text that is no valid Unicode: {error}", param="messages") from error
