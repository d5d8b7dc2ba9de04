"""The channels of an output: content and reasoning, with whitespace that may turn out to be framing held back."""

from __future__ import annotations

from typing import Literal, TypeAlias

from toolglot.events import ContentDelta, Event, ReasoningDelta
from toolglot.formats.binding import Binding
from toolglot.formats.markers import WHITESPACE

Channel: TypeAlias = Literal["content", "reasoning"]


class Channels:
    """Collects what is said on the current channel, and all events in order.

    Framing is a run of nothing but whitespace between two markers, or between a marker and an edge of the output; also
    whitespace before the opener of a call. All other whitespace is text.
    """

    def __init__(self, binding: Binding) -> None:
        self.channel: Channel = "content"
        self.spoken = False
        """Something was said since the last marker or the start."""
        self._binding = binding
        self._events: list[Event] = []
        self._said: list[str] = []
        self._space: list[str] = []
        self._marked = False
        self._unparsed = False

    @property
    def at_marker(self) -> bool:
        """Nothing was said since the last marker."""
        return self._marked and not self.spoken

    def say(self, text: str) -> None:
        """Text of the current channel."""
        said = text.rstrip(WHITESPACE)
        if said:
            self.release()
            self._said.append(said)
            self.spoken = True
        if len(said) < len(text):
            self._space.append(text[len(said) :])

    def say_unparsed(self, text: str) -> None:
        """Text of a call that could not be read."""
        self._flush()
        self._unparsed = True
        self.say(text)
        self._flush()
        self._unparsed = False

    def release(self) -> None:
        """Whitespace that was held is text."""
        self._said += self._space
        self._space.clear()

    def drop(self) -> None:
        """Whitespace that was held is framing."""
        self._space.clear()

    def mark(self) -> None:
        """A marker was read."""
        if self.spoken and self.channel == "content":
            self.release()
        self.restart([])

    def restart(self, space: list[str]) -> None:
        """A call is over; ``space`` is whitespace that stood behind it."""
        self._space = space
        self.spoken = False
        self._marked = True

    def close(self) -> None:
        """The output is over."""
        if self.spoken or not self._marked:
            self.release()

    def turn(self, channel: Channel) -> None:
        """What is said from now on belongs to ``channel``."""
        self._flush()
        self.channel = channel

    def add(self, event: Event) -> None:
        """An event of a call."""
        self._flush()
        self._events.append(event)

    def drain(self) -> list[Event]:
        """All that is certain now."""
        if self._said:
            self._flush()
        events, self._events = self._events, []
        return events

    def _flush(self) -> None:
        if not self._said:
            return
        text = self._binding.expand("".join(self._said))
        self._said.clear()
        if text:
            content = self.channel == "content"
            self._events.append(ContentDelta(text, self._unparsed) if content else ReasoningDelta(text))
