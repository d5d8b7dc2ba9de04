"""What one forward pass takes in: pieces of several sequences, packed into one row."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from functools import cached_property
from itertools import accumulate

import torch
from msgspec import Struct

from toolglot.engine.sequence import Sequence


class Piece(Struct, frozen=True):
    """The next ``count`` tokens of a sequence that are not computed yet."""

    sequence: Sequence
    count: int

    @property
    def end(self) -> int:
        """The length of the sequence up to the end of this piece."""
        return self.sequence.computed + self.count


class Group:
    """Pieces that one attention kernel takes together: for each its new tokens, all its tokens, and its pages.

    A piece's keys are those of all its tokens, its queries those of the new ones, which are its last.
    """

    def __init__(
        self, queries: list[int], keys: list[int], pages: Seq[Seq[int]], *, page_size: int, device: torch.device
    ) -> None:
        self.query_lengths, self.key_lengths = queries, keys
        self._pages = [row[: -(-length // page_size)] for row, length in zip(pages, keys, strict=True)]
        self._page_size, self._device = page_size, device

    def __len__(self) -> int:
        return len(self.query_lengths)

    @cached_property
    def tables(self) -> torch.Tensor:
        """The pages of each piece [pieces, pages], int32, padded with page 0."""
        width = max(map(len, self._pages))
        rows = [[*row, *[0] * (width - len(row))] for row in self._pages]
        return torch.tensor(rows, dtype=torch.int32, device=self._device)

    @cached_property
    def lengths(self) -> torch.Tensor:
        """How many keys each piece sees at its end [pieces], int32."""
        return torch.tensor(self.key_lengths, dtype=torch.int32, device=self._device)

    @cached_property
    def query_offsets(self) -> torch.Tensor:
        """Where each piece begins in the packed row, and where the last one ends [pieces + 1], int32."""
        return self._offsets(self.query_lengths)

    @cached_property
    def key_offsets(self) -> torch.Tensor:
        """The same for the keys [pieces + 1], int32."""
        return self._offsets(self.key_lengths)

    @cached_property
    def visible(self) -> torch.Tensor:
        """For single-token pieces: which of the keys in ``tables`` each sees [pieces, 1, 1, keys], bool."""
        keys = torch.arange(self.tables.shape[1] * self._page_size, device=self._device)
        return (keys < self.lengths[:, None])[:, None, None]

    @cached_property
    def causal(self) -> list[torch.Tensor | None]:
        """For each piece: which keys each of its tokens sees [tokens, keys], bool; None when it starts its sequence."""
        return [self._causal(*lengths) for lengths in zip(self.query_lengths, self.key_lengths, strict=True)]

    def _causal(self, queries: int, keys: int) -> torch.Tensor | None:
        if queries == keys:
            return None
        return torch.ones(queries, keys, dtype=torch.bool, device=self._device).tril(keys - queries)

    def _offsets(self, lengths: list[int]) -> torch.Tensor:
        return torch.tensor([0, *accumulate(lengths)], dtype=torch.int32, device=self._device)


class Batch:
    """Packed pieces: those of one token (``decodes``) first, then the others (``chunks``). All tensors are int64."""

    def __init__(self, pieces: Seq[Piece], *, page_size: int, device: torch.device) -> None:
        self.pieces = sorted(pieces, key=lambda piece: piece.count > 1)
        alone = sum(piece.count == 1 for piece in pieces)
        self.decodes = _group(self.pieces[:alone], page_size, device)
        self.chunks = _group(self.pieces[alone:], page_size, device)
        rows = [(piece.sequence, at) for piece in self.pieces for at in range(piece.sequence.computed, piece.end)]
        self.token_ids = torch.tensor([sequence.tokens[at] for sequence, at in rows], device=device)
        self.positions = torch.tensor([at for _, at in rows], device=device)
        slots = [sequence.pages[at // page_size] * page_size + at % page_size for sequence, at in rows]
        self.slots = torch.tensor(slots, device=device)
        """Where each token's keys and values go: page * page size + offset."""
        ends = accumulate(piece.count for piece in self.pieces)
        self.last = torch.tensor([end - 1 for end in ends], device=device)
        """The last token of each piece [pieces]: whose logits are needed."""


def _group(pieces: Seq[Piece], page_size: int, device: torch.device) -> Group:
    return Group(
        [piece.count for piece in pieces],
        [piece.end for piece in pieces],
        [piece.sequence.pages for piece in pieces],
        page_size=page_size,
        device=device,
    )
