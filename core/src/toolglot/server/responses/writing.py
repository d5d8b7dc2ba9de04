"""What the model says as a response and as the events of its stream: one path for both, so that they agree."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolglot.events import ArgumentsDelta, CallEnd, CallStart, ContentDelta, Event, ReasoningDelta
from toolglot.server.chat.protocol import TokenLogprob
from toolglot.server.errors import ApiError
from toolglot.server.generation import Generation
from toolglot.server.notes import NOTHING
from toolglot.server.responses import events as wire
from toolglot.server.responses.drafts import CallDraft, Draft, MessageDraft, ReasoningDraft
from toolglot.server.responses.events import StreamEvent
from toolglot.server.responses.items import new_id
from toolglot.server.responses.protocol import (
    IncompleteDetails,
    InputTokensDetails,
    ItemStatus,
    OutputCall,
    OutputItem,
    OutputMessage,
    OutputTokensDetails,
    Response,
    ResponseError,
    Usage,
)

D = TypeVar("D", bound=Draft)


def no_logprobs(_: int) -> tuple[TokenLogprob, ...]:
    """What is told of pieces of text whose probabilities nobody asked for."""
    return ()


class Shown(Struct, frozen=True):
    """What of a reply is shown."""

    sealed_reasoning: bool = False
    extensions: bool = True
    logprobs: Callable[[int], tuple[TokenLogprob, ...]] = no_logprobs
    """Gives the probabilities of the tokens of the next characters of text."""


class ResponseWriter:
    """Writes one response: :meth:`step` for each step, then :meth:`closing` or :meth:`failure`.

    Each returns the next events of the stream; ``response`` is the response as it is then.
    """

    def __init__(self, response: Response, shown: Shown) -> None:
        self.response = response
        self._shown = shown
        self._items: list[OutputItem] = []
        self._draft: Draft | None = None
        self._written: list[StreamEvent] = [wire.Created(response), wire.InProgress(response)]
        self._sent = 0
        self._call_ids: set[str] = set()
        self._tokens = self._reasoning_tokens = 0

    def step(self, events: Iterable[Event], tokens: int) -> list[StreamEvent]:
        """What the events of one step add; ``tokens`` is how many tokens the reply has by now."""
        reasoned = isinstance(self._draft, ReasoningDraft)
        reasons: bool | None = None  # nothing is said
        for event in events:
            self._add(event)
            reasons = reasons or isinstance(event, ReasoningDelta)
        if reasons is not None:
            self._count(tokens, reasons or (reasoned and isinstance(self._draft, MessageDraft)))
        return self._numbered()

    def _count(self, tokens: int, reasoning: bool) -> None:
        """Count the tokens since what was last said. Those before a call are not told apart: most are of the call."""
        if reasoning:
            self._reasoning_tokens += tokens - self._tokens
        self._tokens = tokens

    def closing(self, generation: Generation) -> list[StreamEvent]:
        """The end of the last item and of the response, when the generation has ended."""
        cut = generation.finish == "length"
        self._count(generation.completion_tokens, isinstance(self._draft, ReasoningDraft))
        self._end("incomplete" if cut else "completed")
        if not cut and not any(isinstance(item, OutputMessage | OutputCall) for item in self._items):
            self._message()  # an answer without text is an answer still
            self._end("completed")
        self.response = self._ended(generation, cut=cut)
        self._written.append(wire.Incomplete(self.response) if cut else wire.Completed(self.response))
        return self._numbered()

    def failure(self, error: ApiError) -> list[StreamEvent]:
        """The end of a response that failed on the way; it keeps the output so far."""
        unfinished = [] if self._draft is None else [self._draft.item("incomplete")]
        self.response = replace(
            self.response,
            status="failed",
            error=ResponseError("rate_limit_exceeded" if error.status == 429 else "server_error", error.message),
            output=(*self._items, *unfinished),
        )
        self._written += [wire.Error(error.code, error.message, error.param), wire.Failed(self.response)]
        return self._numbered()

    def _numbered(self) -> list[StreamEvent]:
        written, self._written = self._written, []
        for event in written:
            event.sequence_number = self._sent
            self._sent += 1
        return written

    def _add(self, event: Event) -> None:
        match event:  # patterns that take fields out would cost three times as much, at every token
            case ContentDelta() if event.text:
                logprobs = self._shown.logprobs(len(event.text))
                self._written.append(self._message().more(event.text, logprobs))
            case ReasoningDelta() if event.text:
                self._written.append(self._reasoning().more(event.text))
            case ArgumentsDelta() if event.text:
                self._written.append((self._draft or self._message()).more(event.text))
            case CallStart():
                self._begin(CallDraft(self._end("completed"), self._unique(event.id), event.name))
            case CallEnd():
                self._end("incomplete" if event.outcome == "truncated" else "completed")

    def _message(self) -> MessageDraft:
        """The message that is being written, or a new one."""
        if isinstance(self._draft, MessageDraft):
            return self._draft
        return self._begin(MessageDraft(self._end("completed")))

    def _reasoning(self) -> ReasoningDraft:
        """The reasoning that is being written, or a new one."""
        if isinstance(self._draft, ReasoningDraft):
            return self._draft
        return self._begin(ReasoningDraft(self._end("completed"), seals=self._shown.sealed_reasoning))

    def _begin(self, draft: D) -> D:
        self._draft = draft
        self._written += draft.begun()
        return draft

    def _end(self, status: ItemStatus) -> int:
        """End the item that is being written, if there is one; returns the place of the next."""
        if self._draft is not None:
            self._written += self._draft.done(status)
            self._items.append(self._draft.item(status))
            self._draft = None
        return len(self._items)

    def _unique(self, call_id: str) -> str:
        """A call's id; a new one where another call of this response has it, as can be where the model writes the ids:
        clients tell calls apart by it.
        """
        unique = new_id("call") if call_id in self._call_ids else call_id
        self._call_ids.add(unique)
        return unique

    def _ended(self, generation: Generation, *, cut: bool) -> Response:
        notes = generation.notes
        return replace(
            self.response,
            status="incomplete" if cut else "completed",
            completed_at=None if cut else int(time.time()),
            incomplete_details=IncompleteDetails() if cut else None,
            output=tuple(self._items),
            usage=self._usage(generation),
            toolglot=notes if self._shown.extensions and notes != NOTHING else UNSET,
        )

    def _usage(self, generation: Generation) -> Usage:
        prompt, reply = generation.prompt_tokens, generation.completion_tokens
        details = OutputTokensDetails(self._reasoning_tokens), InputTokensDetails(generation.cached_tokens)
        return Usage(prompt, reply, prompt + reply, *details)
