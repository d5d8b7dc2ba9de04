"""The keys and values of all sequences, in blocks of a fixed number of tokens."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Sequence as Seq
from typing import Final, TypeAlias

import torch

from toolglot.engine.shapes import LayerShape

Pools: TypeAlias = tuple[torch.Tensor, torch.Tensor]
"""The keys and the values of one layer, each [blocks, block size, key-value heads, head size]."""

_CUDA_SHARE: Final = 0.8
"""Of the memory that is free beside the weights."""
_CPU_SHARE: Final = 0.25
"""Of the machine's memory; what is never written to is never taken."""
_UNKNOWN_MEMORY: Final = 8 << 30


class KVCache:
    """Blocks for the keys and values of all layers; :class:`toolglot.engine.blocks.BlockPool` says whose they are."""

    def __init__(self, layers: Seq[LayerShape], *, blocks: int, block_size: int, like: torch.Tensor) -> None:
        def pool(heads: int, size: int) -> torch.Tensor:
            return _zeros((blocks, block_size, heads, size), like)

        self._pools: list[Pools] = [
            (pool(layer.key_heads, layer.key_size), pool(layer.key_heads, layer.value_size)) for layer in layers
        ]

    def store(self, layer: int, slots: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Pools:
        """Write keys and values [tokens, heads, size] at ``slots`` (block * block size + offset); return all of the
        layer's.
        """
        pools = self._pools[layer]
        for pool, new in zip(pools, (keys, values), strict=True):
            pool.view(-1, *new.shape[1:]).index_copy_(0, slots, new)
        return pools

    def clear(self, blocks: list[int]) -> None:
        """Make the keys and values in these blocks zero."""
        for pools in self._pools:
            for pool in pools:
                pool[blocks] = 0


def _zeros(shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
    """Zeros, not garbage: what attention masks is multiplied by zero, and a NaN would survive that."""
    if like.device.type != "cpu":
        return like.new_zeros(shape)
    # torch would write its zeros; memory straight from the system is zero and not taken before it is used.
    memory = mmap.mmap(-1, math.prod(shape) * like.dtype.itemsize)
    return torch.frombuffer(memory, dtype=like.dtype).view(shape)


def token_bytes(layers: Seq[LayerShape], dtype: torch.dtype) -> int:
    """How many bytes the cache needs for one token."""
    return dtype.itemsize * sum(layer.key_heads * (layer.key_size + layer.value_size) for layer in layers)


def memory_for_cache(device: torch.device) -> int:
    """How many bytes the cache may take on this device."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0] * _CUDA_SHARE)
    known = hasattr(os, "sysconf")  # not on Windows
    return int((os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if known else _UNKNOWN_MEMORY) * _CPU_SHARE)
