"""Guesses at the tokens that come next. A forward pass checks several at once, and what it would not have chosen is
dropped: guesses change how many passes an output takes, never the output. It knows nothing of tensors.
"""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from toolglot.engine.protocol import DraftKind

if TYPE_CHECKING:
    from toolglot.engine.sequence import Sequence

MOST: Final = 16
"""Forced tokens in one pass: few forced texts are longer."""


class Drafts(Struct, frozen=True):
    """Tokens that may come next, and what they were guessed from."""

    tokens: Seq[int] = ()
    kind: DraftKind = "grammar"


NO_DRAFTS: Final = Drafts()


class PromptLookup(Struct, frozen=True):
    """Guesses that what followed the last tokens before will follow them again.

    ``count`` tokens are guessed, where the last ``longest`` to ``shortest`` tokens, at least one, occurred before.
    """

    count: int
    longest: int
    shortest: int


class History:
    """Where runs of tokens last occurred in one sequence."""

    def __init__(self, lookup: PromptLookup) -> None:
        self._lookup = lookup
        self._ends: dict[tuple[int, ...], int] = {}
        self._known = 0
        """Runs that end before this place are in ``_ends``."""

    def following(self, tokens: Seq[int]) -> Seq[int]:
        """What followed the longest run that ``tokens`` end with and that occurred before, where it did last."""
        for end in range(max(1, self._known), len(tokens)):
            for length in self._lengths(end):
                self._ends[tuple(tokens[end - length : end])] = end
        self._known = len(tokens)
        for length in self._lengths(len(tokens)):
            if found := self._ends.get(tuple(tokens[len(tokens) - length :])):
                return tokens[found : found + self._lookup.count]
        return ()

    def _lengths(self, most: int) -> range:
        return range(min(self._lookup.longest, most), self._lookup.shortest - 1, -1)


def guess(sequence: Sequence) -> Drafts:
    """What may come next in a sequence: the text that its grammar forces, else what followed its last tokens before.

    Its grammar allows all of it.
    """
    room, matcher = sequence.room - 1, sequence.matcher
    if matcher is not None and (forced := matcher.forced(min(MOST, room))):
        return Drafts(forced)
    if sequence.history is None:
        return NO_DRAFTS
    found = sequence.history.following(sequence.tokens)[:room]
    return Drafts(found if matcher is None else _allowed(matcher, found), "prompt")


def _allowed(matcher: Any, tokens: Seq[int]) -> Seq[int]:
    taken = matcher.accept_many(tokens)
    matcher.rollback(taken)
    return tokens[:taken]
