"""A class for vLLM's ``ReasoningParserManager`` for each parser, by name: ``toolglot_vllm.reasoning_parser.hermes``.

They say where the reasoning ends, on which vLLM's grammars wait. The reasoning itself they read only next to a tool
parser that is not toolglot's; else :mod:`~toolglot_vllm.unified` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, ClassVar

from toolglot import ContentDelta
from toolglot_vllm import interfaces
from toolglot_vllm.fence import Fence
from toolglot_vllm.loading import configured
from toolglot_vllm.reading import Reading, delta_message, whole
from toolglot_vllm.requests import Prompt, toolglot_request


class ToolglotReasoningParser(interfaces.ReasoningParser):  # type: ignore[misc]  # vLLM's, which lint does not see
    """Reads the reasoning of one output with the parser ``toolglot_name``."""

    toolglot_name: ClassVar[str]
    engine_based_streaming = True
    """vLLM asks it whether the reasoning is over, and for what it then holds back."""

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        self._parser = configured(self.toolglot_name, self.toolglot_name, tokenizer)
        self.fence = _fence(self.toolglot_name, tokenizer)
        self._prompt: Prompt = "absent"
        self._reading: Reading | None = None
        self._over = False

    @property
    def reasoning_start_str(self) -> str | None:
        return self.fence.openers[0] if self.fence.openers else None

    @property
    def reasoning_end_str(self) -> str | None:
        return self.fence.closers[0] if self.fence.closers else None

    def adjust_request(self, request: Any) -> Any:
        if self._parser.marker_ids:
            request.skip_special_tokens = False
        return request

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether no reasoning comes after this prompt."""
        return self.fence.over_at_once(input_ids)

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        return self.fence.closed_by(input_ids, list(delta_ids))

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        return self.fence.behind(input_ids)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        return self.fence.inside(token_ids, self._prompt)

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Sequence[int]) -> None:
        self._prompt = self.fence.of_prompt(prompt_token_ids)

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:  # noqa: ARG002
        prompt: Prompt = "open" if self.fence.opened_before(model_output) else "absent"
        asked = toolglot_request(None, prompt=prompt)  # no tools: calls stay in the content, for who reads them
        message = whole(self._parser, self.model_tokenizer, model_output, (), asked)
        return message.reasoning, message.content

    def extract_reasoning_streaming(
        self,
        previous_text: str,  # noqa: ARG002  # vLLM's interface
        current_text: str,  # noqa: ARG002
        delta_text: str,
        previous_token_ids: Sequence[int],  # noqa: ARG002
        current_token_ids: Sequence[int],  # noqa: ARG002
        delta_token_ids: Sequence[int],
    ) -> Any:
        if self._reading is None:
            asked = toolglot_request(None, prompt=self._prompt)
            self._reading = Reading(self._parser, self.model_tokenizer, asked)
        events = self._reading.feed(delta_text, delta_token_ids)
        self._over |= any(isinstance(event, ContentDelta) for event in events)
        return delta_message(events)

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Whether content has come: vLLM gives what follows to the tool parser."""
        return self._over

    def finish_streaming(self) -> Any:
        """What was held back, at the end of the reasoning or of the stream."""
        return None if self._reading is None else delta_message(self._reading.finish())


@cache
def _fence(name: str, tokenizer: Any) -> Fence:
    return Fence(name, tokenizer)


@cache
def _class(name: str) -> type[Any]:
    return type(f"Toolglot_{name}", (ToolglotReasoningParser,), {"toolglot_name": name})


def __getattr__(name: str) -> type[Any]:
    if name.startswith("__"):  # what Python asks of any module
        raise AttributeError(name)
    return _class(name)
