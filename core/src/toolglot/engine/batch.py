"""What one forward pass takes in: pieces of several sequences, packed into one row."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from functools import cached_property
from itertools import accumulate, chain

import torch

from toolglot.engine.scheduler import Piece


class Group:
    """Pieces that one attention kernel takes together: for each its new tokens, all its tokens, and its blocks.

    A piece's keys are those of all its tokens, its queries those of the new ones, which are its last.
    """

    def __init__(
        self, queries: list[int], keys: list[int], blocks: Seq[Seq[int]], *, block_size: int, device: torch.device
    ) -> None:
        self.query_lengths, self.key_lengths = queries, keys
        self._blocks = [row[: -(-length // block_size)] for row, length in zip(blocks, keys, strict=True)]
        self._block_size, self._device = block_size, device
        self._visible: dict[int | None, tuple[torch.Tensor, torch.Tensor]] = {}
        self._causal: dict[int | None, list[tuple[int, torch.Tensor | None]]] = {}

    def __len__(self) -> int:
        return len(self.query_lengths)

    @cached_property
    def tables(self) -> torch.Tensor:
        """The blocks of each piece [pieces, blocks], int32. Shorter rows repeat their first one: no other is read."""
        return self._padded(self._blocks)

    @cached_property
    def run(self) -> slice | None:
        """The blocks, if they are those of one piece and follow each other."""
        row, *more = self._blocks
        run = slice(row[0], row[0] + len(row))
        return None if more or [*row] != [*range(run.start, run.stop)] else run

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

    def visible(self, window: int | None) -> tuple[torch.Tensor, torch.Tensor]:
        """For single-token pieces: the blocks that each sees keys of, like ``tables``, and which keys of these blocks
        it sees [pieces, 1, 1, keys], bool.
        """
        if window not in self._visible:
            first = self._first(window)
            rows = [row[at:] for row, at in zip(self._blocks, first, strict=True)]
            tables = self._padded(rows) if any(first) else self.tables
            starts = torch.tensor(first, device=self._device)[:, None] * self._block_size
            keys = starts + torch.arange(tables.shape[1] * self._block_size, device=self._device)
            self._visible[window] = tables, _seen(keys, self.lengths[:, None] - 1, window)[:, None, None]
        return self._visible[window]

    def causal(self, window: int | None) -> list[tuple[int, torch.Tensor | None]]:
        """For each piece: the place in ``tables`` of the first block that it sees keys of, and which keys from there on
        each of its tokens sees [tokens, keys], bool; None for a triangle, where a piece starts its sequence.
        """
        if window not in self._causal:
            pieces = zip(self._first(window), self.query_lengths, self.key_lengths, strict=True)
            self._causal[window] = [(first, self._mask(first, new, keys, window)) for first, new, keys in pieces]
        return self._causal[window]

    def _first(self, window: int | None) -> list[int]:
        """For each piece, how many of its blocks none of its tokens sees anything of."""
        if window is None:
            return [0] * len(self)
        lengths = zip(self.query_lengths, self.key_lengths, strict=True)
        return [max(0, keys - queries + 1 - window) // self._block_size for queries, keys in lengths]

    def _mask(self, first: int, queries: int, keys: int, window: int | None) -> torch.Tensor | None:
        if queries == keys and (window is None or keys <= window):
            return None
        places = torch.arange(keys, device=self._device)
        return _seen(places[first * self._block_size :], places[keys - queries :, None], window)

    def _padded(self, rows: Seq[Seq[int]]) -> torch.Tensor:
        width = max(map(len, rows))
        padded = [[*row, *[row[0]] * (width - len(row))] for row in rows]
        return torch.tensor(padded, dtype=torch.int32, device=self._device)

    def _offsets(self, lengths: list[int]) -> torch.Tensor:
        return torch.tensor([0, *accumulate(lengths)], dtype=torch.int32, device=self._device)


class Batch:
    """Packed pieces: those of one token (``decodes``) first, then the others (``chunks``). All tensors are int64."""

    def __init__(self, pieces: Seq[Piece], *, block_size: int, device: torch.device) -> None:
        self.pieces = sorted(pieces, key=lambda piece: piece.count > 1)
        alone = sum(piece.count == 1 for piece in pieces)
        self.decodes = _group(self.pieces[:alone], block_size, device)
        self.chunks = _group(self.pieces[alone:], block_size, device)
        rows = [(piece.sequence, at) for piece in self.pieces for at in range(piece.sequence.computed, piece.end)]
        self.token_ids = torch.tensor([token for piece in self.pieces for token in piece.tokens], device=device)
        self.positions = torch.tensor([at for _, at in rows], device=device)
        slots = [sequence.blocks[at // block_size] * block_size + at % block_size for sequence, at in rows]
        self.slots = torch.tensor(slots, device=device)
        """Where each token's keys and values go: block * block size + offset."""
        ends = accumulate(piece.count for piece in self.pieces)
        needed = [range(end - 1 - piece.drafts, end) for piece, end in zip(self.pieces, ends, strict=True)]
        self.last = torch.tensor([*chain.from_iterable(needed)], device=device)
        """The last token of each piece, and with drafts the one before them too, and they: whose logits are needed."""
        places = zip(self.pieces, accumulate(map(len, needed), initial=0), strict=False)
        self.ends = [*places]
        """All pieces, with the place of the first token that they have in ``last``."""
        self.complete = [(piece, place) for piece, place in self.ends if piece.completes]
        """Those that complete their sequences."""


def _seen(keys: torch.Tensor, query: torch.Tensor, window: int | None) -> torch.Tensor:
    """Whether a token at ``query`` sees the ones at ``keys``."""
    seen = keys <= query
    return seen if window is None else seen & (keys > query - window)


def _group(pieces: Seq[Piece], block_size: int, device: torch.device) -> Group:
    return Group(
        [piece.count for piece in pieces],
        [piece.end for piece in pieces],
        [piece.sequence.blocks for piece in pieces],
        block_size=block_size,
        device=device,
    )
