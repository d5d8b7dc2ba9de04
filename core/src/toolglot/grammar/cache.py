"""Compiled tags and refusals, by what was compiled."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from toolglot.errors import GrammarError
from toolglot.grammar.compiler import CompiledTag

_MOST_REFUSALS = 1024


class Cache:
    """The compiled tags that were used last, up to ``limit`` bytes together, and refusals, for ``seconds`` each.

    Not for several threads at once.
    """

    def __init__(self, limit: int, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._seconds, self._clock = limit, seconds, clock
        self._tags: OrderedDict[bytes, CompiledTag] = OrderedDict()
        self._sizes: dict[bytes, int] = {}
        self._refusals: OrderedDict[bytes, tuple[float, GrammarError]] = OrderedDict()

    @property
    def size(self) -> int:
        """The bytes of all tags, each as large as it was when it was last used: masks that are made late add to it."""
        return sum(self._sizes.values())

    def get(self, key: bytes) -> CompiledTag | None:
        """The tag, if it is here.

        Raises:
            GrammarError: it was refused a short while ago.
        """
        until, refusal = self._refusals.get(key, (0.0, None))
        if refusal is not None and self._clock() < until:
            raise GrammarError(str(refusal), param=refusal.param)
        tag = self._tags.get(key)
        if tag is not None:
            self.put(key, tag)
        return tag

    def put(self, key: bytes, tag: CompiledTag) -> None:
        """Keep a tag, in the place of one with the same key; those that were not used for longest make room for it."""
        self._tags[key] = tag
        self._tags.move_to_end(key)
        self._sizes[key] = tag.size
        while self.size > self._limit:
            oldest, _ = self._tags.popitem(last=False)
            del self._sizes[oldest]

    def refuse(self, key: bytes, refusal: GrammarError) -> None:
        """Keep a refusal for a short while."""
        self._refusals[key] = (self._clock() + self._seconds, refusal)
        self._refusals.move_to_end(key)
        while len(self._refusals) > _MOST_REFUSALS:
            self._refusals.popitem(last=False)
