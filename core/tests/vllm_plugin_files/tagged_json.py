"""A plugin file in the manner of vLLM 0.6 to 0.10, as model repositories ship them.

A call is ``<call>{"name": …, "arguments": {…}}</call>``. The streaming method completes the JSON that has come so far,
and sends what the arguments have that was not sent yet, but for what it made up.
"""

# ruff: noqa: UP006, UP007, UP035  (as such files are written)

import json
import re
from typing import Dict, List, Sequence, Union

from vllm.entrypoints.openai.protocol import (
    ChatCompletionRequest,
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)
from vllm.entrypoints.openai.tool_parsers.abstract_tool_parser import ToolParser, ToolParserManager
from vllm.entrypoints.openai.tool_parsers.utils import is_complete_json, partial_tag_overlap
from vllm.logger import init_logger
from vllm.transformers_utils.tokenizer import AnyTokenizer, MistralTokenizer
from vllm.utils import random_uuid

logger = init_logger(__name__)


def missing(text: str) -> Union[str, None]:
    """What the JSON text lacks at its end, or None where that is not known yet."""
    closers, quoted, escaped = [], False, False
    for char in text:
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = quoted
        elif char == '"':
            quoted = not quoted
        elif not quoted and char in "{[":
            closers.append("}" if char == "{" else "]")
        elif not quoted and char in "}]" and closers:
            closers.pop()
    end = '"' * quoted + "".join(reversed(closers))
    return end if is_complete_json(text + end) else None


@ToolParserManager.register_module("tagged_json")
class TaggedJsonToolParser(ToolParser):
    def __init__(self, tokenizer: AnyTokenizer):
        super().__init__(tokenizer)
        if isinstance(self.model_tokenizer, MistralTokenizer):
            logger.error("This model has no Mistral tokenizer")
        if not self.model_tokenizer:
            raise ValueError("The model tokenizer must be passed to the ToolParser constructor during construction.")
        self.current_tool_name_sent: bool = False
        self.prev_tool_call_arr: List[Dict] = []
        self.current_tool_id: int = -1
        self.streamed_args_for_tool: List[str] = []
        self.start = "<call>"
        self.end = "</call>"
        self.call_regex = re.compile(r"<call>(.*?)</call>|<call>(.*)", re.DOTALL)

    def extract_tool_calls(self, model_output: str, request: ChatCompletionRequest) -> ExtractedToolCallInformation:
        if self.start not in model_output:
            return ExtractedToolCallInformation(tools_called=False, tool_calls=[], content=model_output)
        try:
            raw = [json.loads(match[0] or match[1]) for match in self.call_regex.findall(model_output)]
            calls = [
                ToolCall(
                    type="function",
                    function=FunctionCall(
                        name=call["name"], arguments=json.dumps(call["arguments"], ensure_ascii=False)
                    ),
                )
                for call in raw
            ]
            content = model_output[: model_output.find(self.start)]
            return ExtractedToolCallInformation(
                tools_called=True, tool_calls=calls, content=content if content else None
            )
        except Exception:
            logger.exception("Error in extracting tool call from response.")
            return ExtractedToolCallInformation(tools_called=False, tool_calls=[], content=model_output)

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: ChatCompletionRequest,
    ) -> Union[DeltaMessage, None]:
        if self.start not in previous_text:
            held = partial_tag_overlap(previous_text, self.start)
            before, started, _ = current_text[len(previous_text) - held :].partition(self.start)
            if not started:
                before = before[: len(before) - partial_tag_overlap(before, self.start)]
            if before or not started:
                return DeltaMessage(content=before) if before else None
        if previous_text.count(self.end) == current_text.count(self.start):
            return None
        blocks = current_text.split(self.start)[1:]
        number = max(self.current_tool_id, 0)
        if number + 1 < len(blocks) and self.current_tool_name_sent and self.end in blocks[number]:
            number += 1
        if number != self.current_tool_id:
            self.current_tool_id = number
            self.current_tool_name_sent = False
            self.streamed_args_for_tool.append("")
            self.prev_tool_call_arr.append({})
        return self._delta(blocks[number].split(self.end)[0], self.end in blocks[number])

    def _delta(self, block: str, closed: bool) -> Union[DeltaMessage, None]:
        end = missing(block)
        if end is None:
            return None
        call = json.loads(block + end)
        if not self.current_tool_name_sent:
            if not re.match(r'\s*\{\s*"name"\s*:\s*"[^"]+"', block):
                return None
            self.current_tool_name_sent = True
            function = DeltaFunctionCall(name=call["name"]).model_dump(exclude_none=True)
            return DeltaMessage(
                tool_calls=[
                    DeltaToolCall(
                        index=self.current_tool_id,
                        type="function",
                        id=f"chatcmpl-tool-{random_uuid()}",
                        function=function,
                    )
                ]
            )
        arguments = call.get("arguments")
        if arguments is None:
            return None
        self.prev_tool_call_arr[self.current_tool_id] = call
        text = json.dumps(arguments, ensure_ascii=False)
        if not closed:
            text = text[: len(text) - max(len(end) - 1, 0)]
        sent = self.streamed_args_for_tool[self.current_tool_id]
        if len(text) <= len(sent):
            return None
        self.streamed_args_for_tool[self.current_tool_id] = text
        fragment = DeltaFunctionCall(arguments=text[len(sent) :]).model_dump(exclude_none=True)
        return DeltaMessage(tool_calls=[DeltaToolCall(index=self.current_tool_id, function=fragment)])
