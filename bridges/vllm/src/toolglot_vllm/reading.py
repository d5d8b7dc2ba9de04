"""One output as toolglot's parser reads it, and what it says in vLLM's terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolglot import (
    ArgumentsDelta,
    Call,
    CallStart,
    ContentDelta,
    Event,
    Message,
    Output,
    Parser,
    ReasoningDelta,
    Request,
    added_tokens,
)
from toolglot_vllm import interfaces
from toolglot_vllm.loading import described
from toolglot_vllm.marks import Marks

_TAIL = 64
"""So much of the text is kept to see whether the last token is in it; few tokens are longer."""


class Reading:
    """Reads one output as it arrives."""

    def __init__(self, parser: Parser, tokenizer: Any, request: Request) -> None:
        self._stream = parser.start(request)
        self._tokenizer = tokenizer
        markers = {number: text for text, number in _added(tokenizer).items() if number in parser.marker_ids}
        self._markers = markers
        self._marks = Marks(markers)
        self._ids: list[int] = []  # of the text that has not come yet
        self._last: int | None = None
        self._tail = ""
        self._finished = False

    def feed(self, text: str, token_ids: Sequence[int]) -> list[Event]:
        """What one more piece makes certain."""
        if token_ids:
            self._last = token_ids[-1]
        self._tail = (self._tail + text)[-_TAIL:]
        self._ids += [number for number in token_ids if number not in self._markers]
        text, marks = self._marks.feed(text, token_ids)
        if not text:
            return []
        ids, self._ids = tuple(self._ids), []
        return self._stream.feed(text, ids, marks)

    def finish(self) -> list[Event]:
        """What was still held back; nothing the second time."""
        if self._finished:
            return []
        self._finished = True
        rest = self._marks.finish()
        events = self._stream.feed(rest, tuple(self._ids)) if rest else []
        ids = () if self._last is None else (self._last,)
        return events + self._stream.finish(finish_reason(self._tail, ids, self._tokenizer))


def whole(parser: Parser, tokenizer: Any, text: str, token_ids: Sequence[int], request: Request) -> Message:
    """A whole output, read; with its tokens, if they are known."""
    reason = finish_reason(text, token_ids, tokenizer)
    return parser.read(Output(text, tuple(token_ids), finish=reason), request)


def finish_reason(text: str, token_ids: Sequence[int], tokenizer: Any) -> Any:
    """Why an output ended, which vLLM does not tell parsers: with a token, or a text, that stops it and is not in its
    text (``stop``), or because no more tokens were allowed (``length``). ``stop`` too where its tokens are not known.
    """
    if not token_ids or token_ids[-1] == getattr(tokenizer, "eos_token_id", None):
        return "stop"
    last = tokenizer.decode(list(token_ids[-1:]), skip_special_tokens=False)
    cut = "\N{REPLACEMENT CHARACTER}" in last or text.endswith(last[-_TAIL:].strip())
    return "length" if cut else "stop"


def delta_message(events: Sequence[Event]) -> Any:
    """Events as a ``DeltaMessage``; None where nothing is said."""
    said: dict[str, str] = {}
    calls: dict[int, Any] = {}
    for event in events:
        match event:
            case ReasoningDelta():
                said["reasoning"] = said.get("reasoning", "") + event.text
            case ContentDelta():
                said["content"] = said.get("content", "") + event.text
            case CallStart():
                function = interfaces.DeltaFunctionCall(name=event.name, arguments="")
                calls[event.index] = interfaces.DeltaToolCall(
                    index=event.index, id=event.id, type="function", function=function
                )
            case ArgumentsDelta():
                _more(calls, event)
    fields = {**said, "tool_calls": list(calls.values())} if calls else said
    return interfaces.DeltaMessage(**fields) if fields else None


def _more(calls: dict[int, Any], event: ArgumentsDelta) -> None:
    if event.index in calls:
        calls[event.index].function.arguments += event.text
    else:
        function = interfaces.DeltaFunctionCall(arguments=event.text)
        calls[event.index] = interfaces.DeltaToolCall(index=event.index, function=function)


def function_call(call: Call) -> Any:
    """A call as a ``FunctionCall``, which has the id where this vLLM's can."""
    return interfaces.FunctionCall(id=call.id, name=call.name, arguments=call.arguments)


def _added(tokenizer: Any) -> dict[str, int]:
    return added_tokens(described(tokenizer))
