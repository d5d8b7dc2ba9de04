"""The streaming of one output through a tool parser of vLLM."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from toolglot.events import ContentDelta, Event, Finish, ReasoningDelta
from toolglot.requests import Delta
from toolglot.vllm_plugins.calls import CallWriter
from toolglot.vllm_plugins.tokens import TokenCutter

_log = logging.getLogger(__name__)


class Session:
    """Feeds one output to ``parser`` and says what it says, as events.

    ``cutter`` makes token ids where the output comes without them; ``end`` is the token with which vLLM's outputs end.
    """

    def __init__(
        self, parser: Any, asked: Any, calls: CallWriter, *, label: str, cutter: TokenCutter | None, end: int | None
    ) -> None:
        self._parser = parser
        self._asked = asked
        self.calls = calls
        self._label = label
        self._cutter = cutter
        self._end = end
        self._text = ""
        self._ids: list[int] = []
        self._fed = self._said = 0  # how much of the text the parser has, and how much of it is accounted for
        self._in_calls = self._whole = self._failed = False

    def read(self, delta: Delta) -> list[Event]:
        """The events of one more piece."""
        self._text += delta.text
        events: list[Event] = []
        if self._failed:
            return self._unsaid()
        try:
            for text, ids in self._pieces(delta):
                self._step(text, ids, events)
            if delta.finish is not None:
                self._finish(delta.finish, events)
        except Exception:  # noqa: BLE001  # the file's code can fail in any way; what it has not told of is content
            _log.exception("%s failed; the rest of the output is delivered as content", self._label)
            self._failed = True
            events += self.calls.finish("stop") + self._unsaid()
        return events

    def _pieces(self, delta: Delta) -> Iterator[tuple[str, list[int]]]:
        if self._cutter:
            yield from self._cutter.feed(delta.text, last=delta.finish is not None)
        elif delta.text or delta.token_ids:
            yield delta.text, list(delta.token_ids)

    def _step(self, text: str, ids: list[int], events: list[Event]) -> None:
        start, self._fed = self._fed, self._fed + len(text)
        before, self._ids = self._ids, self._ids + ids
        if self._whole:
            return
        texts = (self._text[:start], self._text[: self._fed], text)
        try:
            message = self._parser.extract_tool_calls_streaming(*texts, before, self._ids, ids, self._asked)
        except NotImplementedError:  # some files read whole outputs only: this one is read at its end
            if before:
                raise
            self._whole = True
        else:
            if message is not None:
                self._tell(message, events)

    def _tell(self, message: Any, events: list[Event]) -> None:
        """A ``DeltaMessage`` as events."""
        reasoning = getattr(message, "reasoning", None) or getattr(message, "reasoning_content", None)
        if reasoning:
            events += [*self.calls.events(more=True), ReasoningDelta(reasoning)]
            self._account(reasoning)
        if message.content:
            events += [*self.calls.events(more=True), ContentDelta(message.content)]
            self._account(message.content)
        for call in message.tool_calls or ():
            function = call.function
            self.calls.add(call.index, call.id, function and function.name, function and function.arguments)
        if message.tool_calls:
            self._in_calls, self._said = True, self._fed
            events += self.calls.events()

    def _account(self, text: str) -> None:
        """Text that the parser passed on is accounted for, and all before it; text that it changed, as all of it."""
        place = self._text.rfind(text, self._said, self._fed)
        self._said = self._fed if place < 0 else place + len(text)
        self._in_calls = False

    def _finish(self, reason: Finish, events: list[Event]) -> None:
        if self._whole:
            information = self._parser.extract_tool_calls(self._text, self._asked)
            events += whole_events(information, self._text, self.calls, reason)
            return
        if reason == "stop":
            if self._end is not None:
                self._step("", [self._end], events)
            self.calls.complete(self._parser.prev_tool_call_arr)
        events += self.calls.finish(reason)
        if not self._in_calls and self._text[self._said :].strip():
            events += self._unsaid()  # an opener that the parser waited on until the end, say

    def _unsaid(self) -> list[Event]:
        text, self._said = self._text[self._said :], len(self._text)
        return [ContentDelta(text, unparsed=True)] if text else []


def whole_events(information: Any, text: str, calls: CallWriter, reason: Finish) -> list[Event]:
    """An ``ExtractedToolCallInformation`` as events. As in vLLM, an output without calls that it gives no content for
    is the content.
    """
    found = information.tool_calls if information.tools_called else ()
    content = information.content or (None if found else text)
    for index, call in enumerate(found):
        calls.add(index, call.id, call.function.name, call.function.arguments)
    return ([ContentDelta(content)] if content else []) + calls.finish(reason)
