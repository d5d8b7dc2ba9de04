"""The places of marker tokens in text that comes later than its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class Marks:
    """Finds the markers of one output in its text.

    vLLM holds text back, where a stop string or a character may go on, but not the ids of its tokens: a marker's text
    can come after its id, and in two pieces. ``texts`` are the markers' by id.
    """

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts
        self._pending: list[int] = []
        self._held = ""

    def feed(self, text: str, ids: Sequence[int]) -> tuple[str, tuple[tuple[int, int], ...]]:
        """The text that is certain, and the (offset, id) of the markers in it."""
        self._pending += [number for number in ids if number in self._texts]
        text, self._held = self._held + text, ""
        marks, at = [], 0
        while (found := self._next(text, at)) is not None:
            marks.append(found)
            at = found[0] + len(self._texts[found[1]])
        end = len(text) - self._begun(text, at)
        text, self._held = text[:end], text[end:]
        return text, tuple(marks)

    def finish(self) -> str:
        """What was still held back."""
        text, self._held = self._held, ""
        return text

    def _next(self, text: str, at: int) -> tuple[int, int] | None:
        """The next marker. One that is not there while a later one is was left out of the text."""
        for place, number in enumerate(self._pending):
            offset = text.find(self._texts[number], at)
            if offset >= 0:
                del self._pending[: place + 1]
                return offset, number
        return None

    def _begun(self, text: str, at: int) -> int:
        """How much of the text's end is the beginning of a marker that must still come."""
        markers = [self._texts[number] for number in self._pending]
        longest = min(max(map(len, markers), default=1) - 1, len(text) - at)
        lengths = range(longest, 0, -1)
        return next((size for size in lengths if any(one.startswith(text[-size:]) for one in markers)), 0)
