"""How long the masks of a compiled grammar take, found out by writing something under it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import xgrammar
from numpy.typing import NDArray

_WALKS, _STEPS = 4, 120
_SECONDS = 0.1
"""How much of the processor's time masks may take until it is enough."""
_SIGNS = b'"}],:>'
_LIKELY = 0.4
"""How often a walk takes a token that leads further, where one is allowed."""


class Probe:
    """Writes under grammars of one tokenizer (XGrammar's ``info``), at random, but mostly deeper into calls."""

    def __init__(self, info: Any) -> None:
        self._end = info.vocab_size - 1
        self._signs = [token for token, text in enumerate(info.decoded_vocab) if len(text) == 1 and text in _SIGNS]

    def slowest(self, grammar: Any, named: Iterable[int]) -> float:
        """The seconds of the processor that the slowest mask took. ``named``: the tokens that the tag names."""
        likely = [sorted(named), self._signs]
        slowest = total = 0.0
        for seed in range(_WALKS):
            for seconds in self._walk(grammar, likely, Random(seed)):  # noqa: S311  # nothing secret
                slowest, total = max(slowest, seconds), total + seconds
                if total > _SECONDS:
                    return slowest
        return slowest

    def _walk(self, grammar: Any, likely: Sequence[Sequence[int]], random: Random) -> Iterator[float]:
        matcher = xgrammar.GrammarMatcher(grammar)
        words = np.empty((1, self._end // 32 + 1), dtype=np.int32)
        bits = words[0].view(np.uint32)
        for _ in range(_STEPS):
            start = time.thread_time()
            matcher.fill_next_token_bitmask(words)
            yield time.thread_time() - start
            bits[-1] &= np.uint32((2 << self._end % 32) - 1)  # beyond the vocabulary it says nothing
            token = _pick(bits, likely, random)
            if token in (None, self._end) or not matcher.accept_token(token):
                return


def _pick(words: NDArray[np.uint32], likely: Sequence[Sequence[int]], random: Random) -> int | None:
    """A token of a mask: one of the likely, now and then, or any; None where there is none."""
    for tokens in likely:
        allowed = [token for token in tokens if _has(words, token)]
        if allowed and random.random() < _LIKELY:
            return random.choice(allowed)
    places: list[int] = np.flatnonzero(words).tolist()
    if not places:
        return None
    some = random.choice(places)
    return 32 * some + random.choice([bit for bit in range(32) if _has(words, 32 * some + bit)])


def _has(words: NDArray[np.uint32], token: int) -> bool:
    return bool(words[token >> 5] >> (token & 31) & 1)
