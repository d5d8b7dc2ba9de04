"""Which tokens the content of a reply is made of."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from toolglot.engine.protocol import TokenLogprobs
from toolglot.events import ContentDelta, Event, ReasoningDelta


class ContentToken(Struct, frozen=True):
    """A token of the content, and how probable it was."""

    token_id: int
    logprobs: TokenLogprobs


class _Span(Struct, frozen=True):
    """Text, by its offsets in the output, and those of its tokens that are not told yet: several may share a
    character.
    """

    start: int
    end: int
    tokens: tuple[ContentToken, ...]


class ContentTokens:
    """Finds the tokens of content while output is read a token at a time.

    Parsers do not say where in the output an event's text stood. But content and reasoning are in it word for word and
    in order, and what is left out between is over when the next event comes: so the text of an event goes on where the
    last one ended, or stands as late as possible.
    """

    def __init__(self) -> None:
        self._text = ""  # what may still become content
        self._start = self._length = 0  # where it begins, and how long the output is
        self._expected: list[ContentToken] = []
        self._spans: deque[_Span] = deque()
        self._content = self._taken = 0  # characters
        self._ready: deque[tuple[int, ContentToken]] = deque()  # with where in the content each begins

    def expect(self, token: ContentToken) -> None:
        """Note a token whose text comes with the next :meth:`feed`, or with a later one."""
        self._expected.append(token)

    def feed(self, text: str, events: Iterable[Event]) -> None:
        """Note text of the output, and the events that it brought."""
        before = self._length
        if text:
            self._length += len(text)
            self._text += text
            self._spans.append(_Span(before, self._length, tuple(self._expected)))
            self._expected = []
        for kind, run in groupby(events, type):
            if kind in (ContentDelta, ReasoningDelta):
                self._place("".join(_texts(run)), is_content=kind is ContentDelta)
            else:
                self._advance(max(before, self._start))  # a call's text is not content, whatever comes after it

    def take(self, length: int) -> list[ContentToken]:
        """The tokens of the next ``length`` characters of content that begin there."""
        self._taken += length
        taken = []
        while self._ready and self._ready[0][0] < self._taken:
            taken.append(self._ready.popleft()[1])
        return taken

    def _place(self, text: str, *, is_content: bool) -> None:
        start = self._start + (0 if self._text.startswith(text) else max(self._text.rfind(text), 0))
        end = start + len(text)
        if is_content:
            for number, span in enumerate(self._spans):
                if span.start < end and span.end > start:
                    offset = self._content + max(span.start - start, 0)
                    self._ready += ((offset, token) for token in span.tokens)
                    self._spans[number] = replace(span, tokens=())
            self._content += len(text)
        self._advance(end)

    def _advance(self, offset: int) -> None:
        """Forget what comes before ``offset``."""
        self._text = self._text[offset - self._start :]
        self._start = offset
        while self._spans and self._spans[0].end <= offset:
            self._spans.popleft()


def _texts(run: Iterable[Event]) -> Iterator[str]:
    for event in run:
        if isinstance(event, ContentDelta | ReasoningDelta):
            yield event.text
