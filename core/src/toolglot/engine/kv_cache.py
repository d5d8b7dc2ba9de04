"""The keys and values of all sequences, in pages of a fixed number of tokens."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Sequence as Seq
from typing import Final, TypeAlias

import torch

Pools: TypeAlias = tuple[torch.Tensor, torch.Tensor]
"""The keys and the values of one layer, each [pages, page size, key-value heads, head size]."""

_CUDA_SHARE: Final = 0.8
"""Of the memory that is free beside the weights."""
_CPU_SHARE: Final = 0.25
"""Of the machine's memory; what is never written to is never taken."""
_UNKNOWN_MEMORY: Final = 8 << 30


class KVCache:
    """Pages for the keys and values of all layers.

    ``heads`` gives each layer's (key-value heads, head size). A sequence holds its pages from admission to its end, so
    it never runs out of them half-way.
    """

    def __init__(self, heads: Seq[tuple[int, int]], *, pages: int, page_size: int, like: torch.Tensor) -> None:
        self.page_size = page_size
        shapes = [(pages, page_size, count, size) for count, size in heads]
        self._pools: list[Pools] = [(_zeros(shape, like), _zeros(shape, like)) for shape in shapes]
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
        # The last ones freed: pages that were never used stay unused, and take no memory.
        taken = self._free[len(self._free) - count :]
        del self._free[len(self._free) - count :]
        return taken

    def release(self, pages: list[int]) -> None:
        """Take back the pages of a sequence, and empty its list."""
        self._free += pages
        pages.clear()

    def store(self, layer: int, slots: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Pools:
        """Write keys and values [tokens, heads, size] at ``slots`` (page * page size + offset); return the layer's."""
        pools = self._pools[layer]
        for pool, new in zip(pools, (keys, values), strict=True):
            pool.view(-1, *new.shape[1:]).index_copy_(0, slots, new)
        return pools


def _zeros(shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
    """Zeros, not garbage: what attention masks is multiplied by zero, and a NaN would survive that."""
    if like.device.type != "cpu":
        return like.new_zeros(shape)
    # torch would write its zeros; memory straight from the system is zero and not taken before it is used.
    memory = mmap.mmap(-1, math.prod(shape) * like.dtype.itemsize)
    return torch.frombuffer(memory, dtype=like.dtype).view(shape)


def token_bytes(heads: Seq[tuple[int, int]], dtype: torch.dtype) -> int:
    """How many bytes the cache needs for one token."""
    return 2 * dtype.itemsize * sum(count * size for count, size in heads)


def memory_for_cache(device: torch.device) -> int:
    """How many bytes the cache may take on this device."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0] * _CUDA_SHARE)
    known = hasattr(os, "sysconf")  # not on Windows
    return int((os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if known else _UNKNOWN_MEMORY) * _CPU_SHARE)
