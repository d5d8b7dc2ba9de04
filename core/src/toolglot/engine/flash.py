"""The flash-attn packages, whose kernels read the blocks of the cache themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any, Final

import torch

from toolglot.engine.batch import Group
from toolglot.engine.kv_cache import Pools
from toolglot.engine.shapes import LayerShape, Scoring
from toolglot.errors import ModelError

_PAGED: Final = (9, 10, 11)
"""The generations of GPUs (major compute capability) on which flash-attn 4 reads a cache in blocks: Hopper, and
Blackwell but for its consumer cards.
"""


class Flash2Kernels:
    """flash-attn 2: one kernel for chunks; one for decoding, which shares out long sequences to the whole GPU."""

    name = "flash2"
    block_size = 256  # the kernels take multiples of it only
    capturable = True

    def __init__(self, varlen: Callable[..., torch.Tensor], with_kvcache: Callable[..., torch.Tensor]) -> None:
        self._varlen, self._with_kvcache = varlen, with_kvcache

    @classmethod
    def load(cls, layers: Collection[LayerShape], like: torch.Tensor) -> Flash2Kernels:
        """The kernels for these layers. Raises ModelError: they are missing, or of no use for them."""
        _require(like, "flash-attn", 'pip install "toolglot[cuda]"')
        for layer in layers:
            # Other sizes are padded by the package, which means a copy of the cache at every call.
            if layer.key_size != layer.value_size or layer.key_size % 8 or layer.key_size > 256:
                raise ModelError(
                    f"it needs heads of one size, a multiple of 8 up to 256, and there are {_sizes(layer)}"
                )
        from flash_attn import flash_attn_varlen_func, flash_attn_with_kvcache

        return cls(flash_attn_varlen_func, flash_attn_with_kvcache)

    def decode(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        return self._with_kvcache(
            query[:, None], *pools,
            cache_seqlens=group.lengths, block_table=group.tables, **self._asked(scoring),
        )[:, 0]  # fmt: skip

    def chunks(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        return self._varlen(
            query, *pools,
            cu_seqlens_q=group.query_offsets, cu_seqlens_k=group.key_offsets,
            max_seqlen_q=max(group.query_lengths), max_seqlen_k=max(group.key_lengths),
            block_table=group.tables, **self._asked(scoring),
        )  # fmt: skip

    def _asked(self, scoring: Scoring) -> dict[str, Any]:
        window = (-1, -1) if scoring.window is None else (scoring.window - 1, 0)
        return _asked(scoring, window)


class Flash4Kernels:
    """flash-attn 4, one function for both kinds. It compiles its kernels when they are first used."""

    name = "flash4"
    block_size = 128  # the kernels' own tile for heads up to 128: whole blocks are then loaded by the GPU itself
    capturable = True

    def __init__(self, varlen: Callable[..., tuple[torch.Tensor, torch.Tensor | None]]) -> None:
        self._varlen = varlen

    @classmethod
    def load(cls, layers: Collection[LayerShape], like: torch.Tensor) -> Flash4Kernels:
        """The kernels for these layers. Raises ModelError: they are missing, or of no use here."""
        _require(like, "flash-attn-4", "pip install --pre flash-attn-4 (on CUDA 13: flash-attn-4[cu13])")
        major, minor = torch.cuda.get_device_capability(like.device)
        if major not in _PAGED:
            raise ModelError(
                f"it reads blocks on GPUs of compute capability 9 to 11 only, and this one has {major}.{minor}"
            )
        for layer in layers:
            if layer.key_size % 8 or layer.value_size % 8 or max(layer.key_size, layer.value_size) > 256:
                raise ModelError(f"it needs heads of a multiple of 8 up to 256, and there are {_sizes(layer)}")
        from flash_attn.cute import flash_attn_varlen_func

        return cls(flash_attn_varlen_func)

    def decode(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        return self._call(query[:, None], pools, group, scoring)[:, 0]

    def chunks(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        return self._call(query, pools, group, scoring, cu_seqlens_q=group.query_offsets)

    def _call(
        self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring, **packed: torch.Tensor
    ) -> torch.Tensor:
        # Without max_seqlen_q and max_seqlen_k it takes their bounds from the shapes, and compiles fewer kernels.
        window = (None, None) if scoring.window is None else (scoring.window - 1, 0)
        result, _ = self._varlen(
            query, *pools, seqused_k=group.lengths, page_table=group.tables, **packed, **_asked(scoring, window)
        )
        return result


def _asked(scoring: Scoring, window: tuple[int | None, int | None]) -> dict[str, Any]:
    """What both packages call alike; ``window`` is how many keys are seen before and after a token's own."""
    return {
        "softmax_scale": scoring.scale,
        "causal": True,
        "window_size": window,
        "softcap": scoring.softcap or 0.0,
    }


def _require(like: torch.Tensor, name: str, install: str) -> None:
    """Raise ModelError where the distribution is missing, or cannot compute with tensors like this one."""
    _require_tensors(like)
    try:
        distribution(name)  # both are found as `flash_attn`, and version 2 carries an old `flash_attn.cute`
    except PackageNotFoundError:
        raise ModelError(f"{name} is not installed: {install}") from None


def _require_tensors(like: torch.Tensor) -> None:
    if like.device.type != "cuda":
        raise ModelError("it needs CUDA, and the model is on the CPU")
    if like.dtype not in (torch.float16, torch.bfloat16):
        raise ModelError(f"it needs bfloat16, and the model is in {str(like.dtype).removeprefix('torch.')}")


def _sizes(layer: LayerShape) -> str:
    return f"keys of {layer.key_size} and values of {layer.value_size}"
