"""Stop strings: they end the reply where they occur in its content, and never in reasoning or arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from toolglot.events import ContentDelta, Event


class Stops(Struct, frozen=True):
    """The stop strings of a request, and whether the one that ends the content belongs to it."""

    strings: tuple[str, ...] = ()
    included: bool = False


class StopStrings:
    """Passes events on until a stop string occurs, and drops the content from there on.

    Text that may be the beginning of a stop string is held back. A stop string lies within one run of content:
    reasoning or a call ends the run. The stop string that ends first counts, so that chunks make no difference.
    ``included``: it belongs to the content.
    """

    def __init__(self, stops: Sequence[str], *, included: bool = False) -> None:
        self._stops = stops
        self._included = included
        self._held = ContentDelta("")
        self.found: str | None = None
        """The stop string that ended the content."""

    @property
    def hit(self) -> bool:
        """Whether there was one."""
        return self.found is not None

    def filter(self, events: Iterable[Event]) -> list[Event]:
        """Those of ``events`` that come before a stop string; ``found`` says whether there was one."""
        if not self._stops:
            return list(events)
        passed: list[Event] = []
        for event in events:
            if isinstance(event, ContentDelta):
                passed += self._content(event)
            else:
                passed += [*self.flush(), event]
            if self.hit:
                break
        return passed

    def flush(self) -> list[Event]:
        """What was held back, now that no content follows it."""
        held, self._held = self._held, ContentDelta("")
        return [held] if held.text else []

    def _content(self, delta: ContentDelta) -> list[Event]:
        text = self._held.text + delta.text
        unparsed = self._held.unparsed or delta.unparsed
        self.found, cut = self._first(text) or (None, self._safe(text))
        self._held = ContentDelta("" if self.hit else text[cut:], unparsed)
        return [ContentDelta(text[:cut], unparsed)] if cut else []

    def _first(self, text: str) -> tuple[str, int] | None:
        """The stop string that ends first, and where the content ends for it; of two with one end, the longer."""
        found = [(start + len(stop), start, stop) for stop in self._stops if (start := text.find(stop)) >= 0]
        if not found:
            return None
        end, start, stop = min(found)
        return stop, end if self._included else start

    def _safe(self, text: str) -> int:
        """How much of the text belongs to no stop string, whatever follows."""
        return min(_partial(text, stop) for stop in self._stops)


def _partial(text: str, stop: str) -> int:
    """Where the end of the text begins to spell ``stop``; the text's length when it does not."""
    start = text.find(stop[0], max(0, len(text) - len(stop) + 1))
    while start >= 0 and not stop.startswith(text[start:]):
        start = text.find(stop[0], start + 1)
    return start if start >= 0 else len(text)
