"""The keys and values of all sequences, in pages of a fixed number of tokens."""

from __future__ import annotations

from collections.abc import Sequence as Seq

import torch


class KVCache:
    """Pages of keys and values, one pool for each layer: [pages, page size, key-value heads, head size].

    ``heads`` gives each layer's (key-value heads, head size). A sequence holds its pages from admission to its end, so
    it never runs out of them half-way.
    """

    def __init__(self, heads: Seq[tuple[int, int]], *, pages: int, page_size: int, like: torch.Tensor) -> None:
        self.page_size = page_size
        # Zeros, not garbage: what is masked is multiplied by zero, and a NaN would survive that.
        self._keys, self._values = (
            [like.new_zeros(pages, page_size, count, size) for count, size in heads] for _ in range(2)
        )
        self._free = list(range(pages))

    @property
    def free_pages(self) -> int:
        """How many pages nobody holds."""
        return len(self._free)

    def reserve(self, tokens: int) -> list[int] | None:
        """Pages for so many tokens, or None when there are not enough now."""
        count = -(-tokens // self.page_size)
        if count > len(self._free):
            return None
        taken, self._free = self._free[:count], self._free[count:]
        return taken

    def release(self, pages: list[int]) -> None:
        """Take back the pages of a sequence, and empty its list."""
        self._free += pages
        pages.clear()

    def store(
        self, layer: int, slots: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write keys and values [tokens, heads, size] at ``slots`` (page * page size + offset); return the layer's pools."""
        pools = self._keys[layer], self._values[layer]
        for pool, new in zip(pools, (keys, values), strict=True):
            pool.flatten(0, 1).index_copy_(0, slots, new)
        return pools


def token_bytes(heads: Seq[tuple[int, int]], dtype: torch.dtype) -> int:
    """How many bytes the cache needs for one token."""
    return 2 * dtype.itemsize * sum(count * size for count, size in heads)
