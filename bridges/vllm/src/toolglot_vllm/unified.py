"""One reading of an output, reasoning and calls together, where vLLM has two parsers read one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any, ClassVar

from toolglot import Parser
from toolglot_vllm import interfaces
from toolglot_vllm.loading import configured
from toolglot_vllm.reading import Reading, delta_message, function_call, whole
from toolglot_vllm.reasoning_parser import ToolglotReasoningParser
from toolglot_vllm.requests import Prompt, toolglot_request
from toolglot_vllm.tool_parser import ToolglotToolParser

_MARK = "toolglot_original"


class _Unified:
    """Reads in the place of vLLM's ``DelegatingParser``, which does all the rest."""

    tool_parser_cls: ClassVar[type[Any] | None]
    reasoning_parser_cls: ClassVar[type[Any] | None]
    model_tokenizer: Any
    reasoning_parser: Any

    def __init__(self, tokenizer: Any, tools: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, tools, *args, **kwargs)  # type: ignore[call-arg]  # it is mixed into vLLM's
        self._tools = tools or ()
        self._prompt: Prompt | None = None
        self._reading: Reading | None = None

    def joint(self) -> Parser:
        """The parser that reads reasoning and calls.

        Raises:
            PluginError: it cannot be had for this tokenizer, or one cannot read the other's reasoning.
        """
        tools, reasoning = self.tool_parser_cls, self.reasoning_parser_cls
        other = reasoning.toolglot_name if reasoning else None
        return configured(tools.toolglot_name if tools else other, other, self.model_tokenizer)

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        if self.reasoning_parser is not None:
            self._prompt = self.reasoning_parser.fence.of_prompt(prompt_token_ids)

    def parse(
        self,
        model_output: str,
        request: Any,
        enable_auto_tools: bool = False,  # noqa: ARG002  # vLLM's interface: without them there is no tool parser
        model_output_token_ids: Sequence[int] = (),
    ) -> tuple[str | None, str | None, list[Any] | None]:
        asked = self._asked(request, self._prompt or self._prompt_of(model_output))
        message = whole(self.joint(), self.model_tokenizer, model_output, model_output_token_ids, asked)
        return message.reasoning, message.content, [function_call(call) for call in message.tool_calls]

    def parse_delta(
        self,
        delta_text: str,
        delta_token_ids: list[int],
        request: Any,
        prompt_token_ids: list[int] | None = None,
        *,
        finished: bool,
    ) -> Any:
        if self._reading is None:
            if prompt_token_ids is not None:
                self.set_prompt_token_ids(prompt_token_ids)
            asked = self._asked(request, self._prompt or "absent")
            self._reading = Reading(self.joint(), self.model_tokenizer, asked)
        events = self._reading.feed(delta_text, delta_token_ids)
        if finished:
            events = events + self._reading.finish()
        message = delta_message(events)
        if message is not None and not request.include_reasoning:
            message.reasoning = None
            return message if message.content or message.tool_calls else None
        return message

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        parser = self.reasoning_parser
        return 0 if parser is None else parser.fence.inside(token_ids, self._prompt or "absent")

    def _prompt_of(self, output: str) -> Prompt:
        """What an output shows of its prompt."""
        parser = self.reasoning_parser
        return "open" if parser is not None and parser.fence.opened_before(output) else "absent"

    def _asked(self, request: Any, prompt: Prompt) -> Any:
        if self.tool_parser_cls is None:
            return toolglot_request(None, prompt=prompt)
        return toolglot_request(request, self._tools, prompt=prompt)


def unified(composed: type[Any] | None) -> type[Any] | None:
    """The parser that vLLM has composed, or one in its place that reads once, if all that is in it is toolglot's."""
    if composed is None or interfaces.DelegatingParser is None or _is_harmony(composed):
        return composed
    parts = (composed.tool_parser_cls, composed.reasoning_parser_cls)
    if not all(issubclass(one, (ToolglotToolParser, ToolglotReasoningParser)) for one in parts if one is not None):
        return composed
    fields = {
        "tool_parser_cls": composed.tool_parser_cls,
        "reasoning_parser_cls": composed.reasoning_parser_cls,
        "tool_strict_level": composed.tool_strict_level,
    }
    return type("ToolglotParser", (_Unified, interfaces.DelegatingParser), fields)


def _is_harmony(composed: type[Any]) -> bool:
    """Whether it is the parser that vLLM has for gpt-oss whatever is asked for: it has renderings of its own."""
    return interfaces.HarmonyParser is not None and issubclass(composed, interfaces.HarmonyParser)


def install() -> None:
    """Have vLLM compose such parsers. It knows no other way to add one."""
    manager = interfaces.ParserManager
    compose = getattr(manager, "get_parser", None)
    if compose is None or hasattr(compose, _MARK):
        return

    @wraps(compose)
    def get_parser(*arguments: Any, **options: Any) -> type[Any] | None:
        parser = unified(compose(*arguments, **options))
        tokenizer = options.get("tokenizer")
        if tokenizer is not None and parser is not None and issubclass(parser, _Unified):
            parser(tokenizer).joint()  # what cannot be had shows now
        return parser

    setattr(get_parser, _MARK, compose)
    manager.get_parser = staticmethod(get_parser)
