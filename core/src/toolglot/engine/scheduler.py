"""Which tokens of which sequences the next forward pass takes in. It knows nothing of tensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from toolglot.engine.blocks import BlockPool, block_key, root_key
from toolglot.engine.protocol import EngineStats
from toolglot.engine.sequence import Sequence

PATIENCE: Final = 64
"""After memory ran out once, the budget is doubled again after twice as many passes."""


class Piece(Struct, frozen=True):
    """The next ``count`` tokens of a sequence that are not computed yet; the last ``drafts`` of them are guesses."""

    sequence: Sequence
    count: int
    drafts: int = 0

    @property
    def end(self) -> int:
        """The length of the sequence up to the end of this piece."""
        return self.sequence.computed + self.count

    @property
    def tokens(self) -> list[int]:
        """These tokens."""
        sequence = self.sequence
        return [*sequence.tokens[sequence.computed : self.end], *sequence.drafts.tokens[: self.drafts]]

    @property
    def completes(self) -> bool:
        """Whether it reaches the end of its sequence: then a token can be chosen."""
        return self.end >= len(self.sequence.tokens)


class Scheduler:
    """First come, first served: what runs came before all that waits.

    A sequence is admitted when there are blocks for the tokens that it has; for those that it generates it takes more,
    one at a time. If there are none, the last sequence that was admitted gives its own back. It waits in front of
    all others, and what of it has then been forgotten is computed again. The first sequence never has to, so there
    must be blocks for the longest that one can become.

    Args:
        blocks: The blocks of the cache.
        max_num_seqs: How many sequences run at once.
        budget: How many tokens one forward pass takes in; at least two for each sequence.
    """

    def __init__(self, blocks: BlockPool, *, max_num_seqs: int, budget: int) -> None:
        self.blocks = blocks
        self.budget = max(budget, 2 * max_num_seqs)
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        """In the order in which they came."""
        self.preemptions = 0
        """How often a sequence had to give its blocks back."""
        self._max_num_seqs = max_num_seqs
        self._whole, self._patience, self._calm = self.budget, PATIENCE, 0

    @property
    def stats(self) -> EngineStats:
        """Numbers that may be read from any thread."""
        blocks = self.blocks
        return EngineStats(
            engine_running=len(self.running),
            engine_waiting=len(self.waiting),
            engine_pass_tokens=self.budget,
            cache_blocks=len(blocks),
            cache_blocks_held=blocks.held,
            cache_blocks_known=blocks.published,
            cache_blocks_forgotten=blocks.forgotten,
            preemptions=self.preemptions,
        )

    @property
    def sequences(self) -> list[Sequence]:
        """All that run or wait, in the order in which they came."""
        return [*self.running, *self.waiting]

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence."""
        self.waiting.append(sequence)

    def drop(self, sequence: Sequence) -> None:
        """Forget a sequence, and take its blocks back."""
        self.blocks.release(sequence.blocks)
        for queue in (self.running, self.waiting):
            if sequence in queue:
                queue.remove(sequence)

    def schedule(self) -> list[Piece]:
        """The pieces of the next pass: one token of every sequence that generates; what is left of the budget goes to
        prompts, those that are begun first. Empty only if there are no sequences.
        """
        pieces = [
            Piece(sequence, 1)
            for sequence in [*self.running]
            if sequence.pending == 1 and sequence in self.running and self._grow(sequence)
        ]
        left = self.budget - len(pieces)
        begun = [sequence for sequence in self.running if sequence.pending > 1]
        while left > 0 and (sequence := begun.pop(0) if begun else self._admit()):
            pieces.append(Piece(sequence, min(sequence.pending, left)))
            left -= pieces[-1].count
        return pieces

    def extend(self, pieces: Iterable[Piece]) -> list[Piece]:
        """The same pieces, with as many drafts after those that complete their sequences as there is room for in the
        budget and, with a block left for each sequence that runs, in the cache.
        """
        pieces = [*pieces]
        left = self.budget - sum(piece.count for piece in pieces)
        for at, piece in enumerate(pieces):
            if left > 0 and piece.sequence.drafts.tokens and piece.completes:
                drafts = self._reserve(piece, min(left, len(piece.sequence.drafts.tokens)))
                pieces[at] = Piece(piece.sequence, piece.count + drafts, drafts)
                left -= drafts
        return pieces

    def advance(self, pieces: Iterable[Piece]) -> None:
        """Note that these pieces are computed, all but their drafts."""
        self._calm += 1
        if self.budget < self._whole and self._calm >= self._patience:
            self.budget, self._calm = min(2 * self.budget, self._whole), 0
        for piece in pieces:
            self._compute(piece.sequence, piece.end - piece.drafts)

    def accept(self, sequence: Sequence, drafts: int) -> None:
        """Note that so many of a sequence's drafts, computed with its last piece, are now among its tokens."""
        self._compute(sequence, sequence.computed + drafts)

    def shrink(self) -> bool:
        """Halve the budget; False, and nothing is changed, where that leaves less than a token for each sequence.

        After a number of passes that went well it is doubled again, and this number doubles each time it is halved.
        """
        if self.budget // 2 < self._max_num_seqs:
            return False
        self.budget //= 2
        self._patience, self._calm = 2 * self._patience, 0
        return True

    def _admit(self) -> Sequence | None:
        if not self.waiting or len(self.running) == self._max_num_seqs:
            return None
        sequence, size = self.waiting[0], self.blocks.size
        # One token is always computed: the next one is sampled from what comes out for it.
        known = self.blocks.known(self._keys(sequence, (len(sequence.tokens) - 1) // size))
        count = -(-len(sequence.tokens) // size) - len(known)
        # A block for each that runs is left: else the next to need one would take it from this sequence.
        blocks = self.blocks.take(count, known, leave=len(self.running))
        if blocks is None:
            return None
        sequence.blocks, sequence.computed = blocks, len(known) * size
        if sequence.cached is None:
            sequence.cached = sequence.computed
        self.running.append(self.waiting.popleft())
        return sequence

    def _grow(self, sequence: Sequence) -> bool:
        """Make room for one more token; False if the sequence had to give its blocks back itself."""
        while len(sequence.blocks) * self.blocks.size <= sequence.computed:
            blocks = self.blocks.take(1)
            if blocks is not None:
                sequence.blocks += blocks
            elif self._preempt() is sequence:
                return False
        return True

    def _preempt(self) -> Sequence:
        sequence = self.running.pop()
        self.blocks.release(sequence.blocks)
        sequence.computed = 0
        self.preemptions += 1
        self.waiting.appendleft(sequence)
        return sequence

    def _reserve(self, piece: Piece, drafts: int) -> int:
        """For how many drafts after a piece there are blocks."""
        sequence, size = piece.sequence, self.blocks.size
        missing = -(-(piece.end + drafts) // size) - len(sequence.blocks)
        if missing > 0:
            sequence.blocks += self.blocks.take(missing, leave=len(self.running)) or ()
        return min(drafts, len(sequence.blocks) * size - piece.end)

    def _compute(self, sequence: Sequence, computed: int) -> None:
        """Note how many tokens are computed; blocks that they fill can be found from now on."""
        first, sequence.computed = sequence.computed // self.blocks.size, computed
        full = computed // self.blocks.size
        for block, key in zip(sequence.blocks[first:full], self._keys(sequence, full)[first:], strict=True):
            self.blocks.publish(block, key)

    def _keys(self, sequence: Sequence, count: int) -> list[bytes]:
        """The keys of the sequence's first ``count`` blocks, which it remembers."""
        keys, size = sequence.keys, self.blocks.size
        for start in range(len(keys) * size, count * size, size):
            parent = keys[-1] if keys else root_key(sequence.sampling.cache_salt)
            keys.append(block_key(parent, sequence.tokens[start : start + size]))
        return keys[:count]
