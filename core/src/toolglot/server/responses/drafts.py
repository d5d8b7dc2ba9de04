"""The output items while they are written, with the events that tell of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import UNSET

from toolglot.server.chat.protocol import TokenLogprob
from toolglot.server.responses import events as wire
from toolglot.server.responses.events import StreamEvent
from toolglot.server.responses.items import new_id, sealed
from toolglot.server.responses.protocol import (
    ItemStatus,
    OutputCall,
    OutputItem,
    OutputMessage,
    OutputReasoning,
    OutputText,
    ReasoningText,
)


class Draft(Protocol):
    """An item at its place in the output."""

    def begun(self) -> Sequence[StreamEvent]:
        """The item is there, without text."""

    def more(self, text: str) -> StreamEvent:
        """Its text goes on."""

    def done(self, status: ItemStatus) -> Sequence[StreamEvent]:
        """It is over."""

    def item(self, status: ItemStatus) -> OutputItem:
        """The item as far as it is written."""


class MessageDraft:
    """A message: one part of text."""

    def __init__(self, place: int) -> None:
        self._id = new_id("msg")
        self._place = place
        self._pieces: list[str] = []
        self._logprobs: list[TokenLogprob] = []

    def begun(self) -> Sequence[StreamEvent]:
        item = OutputMessage(self._id, "in_progress")
        return [wire.ItemAdded(self._place, item), wire.PartAdded(self._id, self._place, OutputText(""))]

    def more(self, text: str, logprobs: tuple[TokenLogprob, ...] = ()) -> StreamEvent:
        """``logprobs``: how probable the text's tokens were, where they are to be told."""
        self._pieces.append(text)
        self._logprobs += logprobs
        return wire.TextDelta(self._id, self._place, text, logprobs)

    def done(self, status: ItemStatus) -> Sequence[StreamEvent]:
        item = self.item(status)
        (part,) = item.content
        return [
            wire.TextDone(self._id, self._place, part.text, part.logprobs),
            wire.PartDone(self._id, self._place, part),
            wire.ItemDone(self._place, item),
        ]

    def item(self, status: ItemStatus) -> OutputMessage:
        return OutputMessage(self._id, status, (OutputText("".join(self._pieces), tuple(self._logprobs)),))


class ReasoningDraft:
    """Reasoning: one part of text. ``seals``: whether it is also given in the form that clients only send back."""

    def __init__(self, place: int, *, seals: bool) -> None:
        self._id = new_id("rs")
        self._place = place
        self._seals = seals
        self._pieces: list[str] = []

    def begun(self) -> Sequence[StreamEvent]:
        item = OutputReasoning(self._id, "in_progress")
        return [wire.ItemAdded(self._place, item), wire.PartAdded(self._id, self._place, ReasoningText(""))]

    def more(self, text: str) -> StreamEvent:
        self._pieces.append(text)
        return wire.ReasoningTextDelta(self._id, self._place, text)

    def done(self, status: ItemStatus) -> Sequence[StreamEvent]:
        item = self.item(status)
        (part,) = item.content
        return [
            wire.ReasoningTextDone(self._id, self._place, part.text),
            wire.PartDone(self._id, self._place, part),
            wire.ItemDone(self._place, item),
        ]

    def item(self, status: ItemStatus) -> OutputReasoning:
        text = "".join(self._pieces)
        return OutputReasoning(
            self._id, status, (ReasoningText(text),), encrypted_content=sealed(text) if self._seals else UNSET
        )


class CallDraft:
    """A call."""

    def __init__(self, place: int, call_id: str, name: str) -> None:
        self._id = new_id("fc")
        self._place = place
        self._call_id = call_id
        self._name = name
        self._pieces: list[str] = []

    def begun(self) -> Sequence[StreamEvent]:
        return [wire.ItemAdded(self._place, self.item("in_progress"))]

    def more(self, text: str) -> StreamEvent:
        self._pieces.append(text)
        return wire.CallArgumentsDelta(self._id, self._place, text)

    def done(self, status: ItemStatus) -> Sequence[StreamEvent]:
        item = self.item(status)
        return [
            wire.CallArgumentsDone(self._id, self._place, item.name, item.arguments),
            wire.ItemDone(self._place, item),
        ]

    def item(self, status: ItemStatus) -> OutputCall:
        return OutputCall(self._id, status, self._call_id, self._name, "".join(self._pieces))
