"""A plugin file in the manner of newer versions of vLLM.

A call is ``<tool_call>NAME<|note|>KEY=VALUE<|note|>KEY=VALUE</tool_call>``. The separator is a special token, so it is
only seen where special tokens are kept; the markers are found by their token ids. A call is sent when it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.engine.protocol import (
    DeltaMessage,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.logger import init_logger
from vllm.tokenizers import TokenizerLike
from vllm.tool_parsers.abstract_tool_parser import Tool, ToolParser, ToolParserManager

if TYPE_CHECKING:
    from vllm.entrypoints.openai.engine.protocol import DeltaToolCall

logger = init_logger(__name__)


class NotedFieldsToolParser(ToolParser):
    supports_required_and_named = False
    start_token = "<tool_call>"
    end_token = "</tool_call>"
    separator = "<|note|>"

    def __init__(self, tokenizer: TokenizerLike, tools: list[Tool] | None = None):
        super().__init__(tokenizer, tools)
        self.start_id = self.vocab.get(self.start_token)
        self.end_id = self.vocab.get(self.end_token)
        if self.start_id is None or self.end_id is None or self.separator not in self.vocab:
            raise RuntimeError("NotedFieldsToolParser could not locate the tool call tokens in the tokenizer!")
        self.emitted = 0

    def adjust_request(
        self, request: ChatCompletionRequest | ResponsesRequest
    ) -> ChatCompletionRequest | ResponsesRequest:
        request = super().adjust_request(request)
        if request.tools and request.tool_choice != "none":
            request.skip_special_tokens = False
        return request

    def extract_tool_calls(self, model_output: str, request: ChatCompletionRequest) -> ExtractedToolCallInformation:
        before, _, rest = model_output.partition(self.start_token)
        blocks = [block.partition(self.end_token)[0] for block in rest.split(self.start_token)] if rest else []
        calls = [ToolCall(function=self._function(block)) for block in blocks]
        return ExtractedToolCallInformation(
            tools_called=bool(calls), tool_calls=calls, content=before or None if calls else model_output
        )

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
        if self.start_id not in current_token_ids:
            return DeltaMessage(content=delta_text)
        content = delta_text.partition(self.start_token)[0] if self.start_id not in previous_token_ids else ""
        ended = list(current_token_ids).count(self.end_id)
        blocks = current_text.split(self.start_token)[1 : ended + 1]
        deltas = [self._delta(number, blocks[number]) for number in range(self.emitted, ended)]
        self.emitted = ended
        return DeltaMessage(content=content or None, tool_calls=deltas) if content or deltas else None

    def _delta(self, number: int, block: str) -> DeltaToolCall:
        from vllm.entrypoints.chat_utils import make_tool_call_id
        from vllm.entrypoints.openai.engine.protocol import DeltaFunctionCall, DeltaToolCall

        function = self._function(block.partition(self.end_token)[0])
        self.prev_tool_call_arr.append(function.model_dump())
        self.streamed_args_for_tool.append(function.arguments)
        return DeltaToolCall(
            index=number,
            id=make_tool_call_id(),
            type="function",
            function=DeltaFunctionCall(name=function.name, arguments=function.arguments),
        )

    def _function(self, block: str) -> FunctionCall:
        from vllm.tool_parsers.utils import find_tool_properties

        name, *fields = block.split(self.separator)
        properties = find_tool_properties(self.tools, name)
        arguments = {}
        for key, _, value in (field.partition("=") for field in fields):
            typed = properties.get(key, {}).get("type") not in (None, "string")
            arguments[key] = json.loads(value) if typed else value
        return FunctionCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False))


ToolParserManager.register_module(["noted_fields", "noted"], module=NotedFieldsToolParser)
ToolParserManager.register_lazy_module(
    name="noted_lazily", module_path="vllm.tool_parsers.noted_fields", class_name="NotedFieldsToolParser"
)
