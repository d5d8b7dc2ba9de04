"""Which prepared output is next."""

from __future__ import annotations

from collections.abc import Iterable

from toolglot.backends.prepared import PreparedOutput


class Playlist:
    """Outputs in the order of their file; when there are no more, the last again and again.

    The outputs of each ``match`` are a list of their own: the first in the file whose text is in the prompt counts, and
    the outputs without one are for all other prompts.
    """

    def __init__(self, outputs: Iterable[PreparedOutput]) -> None:
        self._lists: dict[str | None, list[PreparedOutput]] = {}
        for output in outputs:
            self._lists.setdefault(output.match, []).append(output)
        self._next = dict.fromkeys(self._lists, 0)
        self._texts = [text for text in self._lists if text is not None]

    @property
    def reads_prompts(self) -> bool:
        """Whether the prompt makes a difference."""
        return bool(self._texts)

    def next(self, prompt: str) -> PreparedOutput | None:
        """The output for a prompt; None where there is none for it."""
        key = next((text for text in self._texts if text in prompt), None)
        outputs = self._lists.get(key)
        if outputs is None:
            return None
        number = self._next[key]
        self._next[key] = min(number + 1, len(outputs) - 1)
        return outputs[number]
