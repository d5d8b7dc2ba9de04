"""A class for vLLM's ``ToolParserManager`` for each parser, by the parser's name: ``toolglot_vllm.tool_parser.hermes``.

They read calls alone. Where a reasoning parser of toolglot's is there too, or none, :mod:`~toolglot_vllm.unified` reads
in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

from toolglot import ArgumentsDelta, CallStart, Event, GrammarError, Output
from toolglot.requests import StrictLevel
from toolglot_vllm import interfaces
from toolglot_vllm.loading import configured
from toolglot_vllm.reading import Reading, delta_message, function_call
from toolglot_vllm.requests import toolglot_request


class ToolglotToolParser(interfaces.ToolParser):  # type: ignore[misc]  # vLLM's, which lint does not see
    """Reads the calls of one output with the parser ``toolglot_name``, and says what calls may look like."""

    toolglot_name: ClassVar[str]
    engine_based_streaming = True
    """vLLM says when a stream ends, and takes what was held back until then."""
    structural_tag_model = "toolglot"
    """It is asked for a structural tag."""
    supports_required_and_named = False
    """Calls that are demanded are in the model's own format too, and not an array of JSON."""

    def __init__(self, tokenizer: Any, tools: list[Any] | None = None, **_: Any) -> None:
        super().__init__(tokenizer, tools)
        self._parser = configured(self.toolglot_name, None, tokenizer)
        recommended = getattr(self._parser.plugin, "strict_level", None)
        if recommended and interfaces.ToolStrictLevel is not None:
            self.default_tool_strict_level = interfaces.ToolStrictLevel.from_name(recommended)
        self._reading: Reading | None = None

    def adjust_request(self, request: Any) -> Any:
        if self._parser.marker_ids and request.tools:
            request.skip_special_tokens = False  # markers may be such
        return super().adjust_request(request)

    def get_structural_tag(self, request: Any, *, reasoning: bool = False, strict_level: Any = None) -> Any:
        """XGrammar's ``StructuralTag``, or None where nothing is to be constrained.

        Reasoning is not in it, unless ``reasoning`` is set: vLLM applies it when that is over.

        Raises:
            VLLMValidationError: a schema cannot be held to; ``parameter`` is the field.
        """
        if not interfaces.enforced():
            return None
        from xgrammar import StructuralTag

        level: StrictLevel = "auto"
        if strict_level is not None:
            level = strict_level.name.lower()
        asked = toolglot_request(request, self.tools, prompt="absent" if reasoning else "closed", strict_level=level)
        try:
            tag = self._parser.constrain(asked)
        except GrammarError as error:
            raise _refusal(error) from error
        return tag and StructuralTag.model_validate_json(tag.to_json())

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        message = self._parser.read(Output(model_output), toolglot_request(request, self.tools))
        calls = [
            interfaces.ToolCall(id=call.id, type="function", function=function_call(call))
            for call in message.tool_calls
        ]
        return interfaces.ExtractedToolCallInformation(
            tools_called=bool(calls), tool_calls=calls, content=message.content
        )

    def extract_tool_calls_streaming(
        self,
        previous_text: str,  # noqa: ARG002  # vLLM's interface
        current_text: str,  # noqa: ARG002
        delta_text: str,
        previous_token_ids: Sequence[int],  # noqa: ARG002
        current_token_ids: Sequence[int],  # noqa: ARG002
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        if self._reading is None:
            self._reading = Reading(self._parser, self.model_tokenizer, toolglot_request(request, self.tools))
        return self._told(self._reading.feed(delta_text, delta_token_ids))

    def finish_streaming(self) -> Any:
        """What was held back, at the end of a stream."""
        return None if self._reading is None else self._told(self._reading.finish())

    def _told(self, events: Sequence[Event]) -> Any:
        for event in events:  # vLLM's account of the calls: all that is known of them was sent
            if isinstance(event, CallStart):
                self.prev_tool_call_arr.append({"name": event.name, "arguments": ""})
                self.streamed_args_for_tool.append("")
            elif isinstance(event, ArgumentsDelta):
                self.prev_tool_call_arr[event.index]["arguments"] += event.text
                self.streamed_args_for_tool[event.index] += event.text
        return delta_message(events)


def _refusal(error: GrammarError) -> Exception:
    """The error with which vLLM answers 400."""
    if interfaces.ValidationError is None:
        return ValueError(str(error))
    refusal: Exception = interfaces.ValidationError(str(error), parameter=error.param)
    return refusal


@cache
def _class(name: str) -> type[Any]:
    return type(f"Toolglot_{name}", (ToolglotToolParser,), {"toolglot_name": name})


def __getattr__(name: str) -> type[Any]:
    if name.startswith("__"):  # what Python asks of any module
        raise AttributeError(name)
    return _class(name)
