"""The kernels that attention is computed with, and the choice between them."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final, Literal, Protocol, TypeAlias, get_args

import torch
from msgspec.structs import replace
from torch.nn.functional import scaled_dot_product_attention

from toolglot.engine.batch import Group
from toolglot.engine.flash import Flash2Kernels, Flash4Kernels
from toolglot.engine.kv_cache import Pools
from toolglot.engine.shapes import LayerShape, Scoring
from toolglot.errors import ModelError

Choice: TypeAlias = Literal["auto", "flash2", "flash4", "sdpa"]

_logger = logging.getLogger(__name__)

_TOLERANCE: Final = 0.05
"""How far bfloat16 results of order 1 may lie apart."""
_SMALL: Final = 4


class Kernels(Protocol):
    """A way to compute attention over the paged cache.

    Queries and results are [tokens, heads, size]; the pools are a layer's keys and values, as in :class:`KVCache`.
    """

    name: str
    block_size: int
    capturable: bool
    """Whether the work of ``decode`` is the same for all lengths, so that a CUDA graph may hold it."""

    def decode(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        """One token of each sequence in ``group``."""

    def chunks(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        """Several tokens of each sequence in ``group``; each token sees those before it and itself."""


class SdpaKernels:
    """torch's scaled_dot_product_attention, which has a flash kernel on the CPU too."""

    name = "sdpa"
    capturable = False

    def __init__(self, block_size: int = 32) -> None:
        self.block_size = block_size

    def decode(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        tables, mask = group.visible(scoring.window)
        keys, values = (
            _blocks(pool, tables, group.run).view(len(group), -1, *pool.shape[2:]).transpose(1, 2) for pool in pools
        )
        # The query heads that share a key-value head become one query of several rows: no key is copied for each.
        rows = query.view(len(group), keys.shape[1], -1, query.shape[-1])
        return _attend(rows, keys, values, mask, scoring).flatten(1, 2)

    def chunks(self, query: torch.Tensor, pools: Pools, group: Group, scoring: Scoring) -> torch.Tensor:
        results = []
        pieces = zip(torch.split(query, group.query_lengths), group.causal(scoring.window), strict=True)
        for index, (piece, (first, mask)) in enumerate(pieces):
            blocks, length = group.tables[index, first:], group.key_lengths[index] - first * self.block_size
            keys, values = (self._seen(pool, blocks, length) for pool in pools)
            result = _attend(piece.transpose(0, 1)[None], keys, values, mask, scoring)
            results.append(result[0].transpose(0, 1))
        return torch.cat(results)

    def _seen(self, pool: torch.Tensor, blocks: torch.Tensor, length: int) -> torch.Tensor:
        used = blocks[: -(-length // self.block_size)]
        return pool.index_select(0, used).flatten(0, 1)[:length].transpose(0, 1)[None]


def _blocks(pool: torch.Tensor, tables: torch.Tensor, run: slice | None) -> torch.Tensor:
    """The blocks of ``tables``; not a copy of them where they end a ``run``."""
    return pool.index_select(0, tables.flatten()) if run is None else pool[run.stop - tables.shape[1] : run.stop]


def _attend(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None, scoring: Scoring
) -> torch.Tensor:
    """Attention of [sequences, heads, tokens, size] each; without a mask, a token sees those before it and itself."""
    if scoring.softcap is not None:
        return _capped(query, *_repeated(keys, values, query), mask, scoring.scale, scoring.softcap)
    if mask is not None and query.is_cuda:  # with a mask, only torch's slow kernel there lets heads share keys
        keys, values = _repeated(keys, values, query)
    return scaled_dot_product_attention(
        query, keys, values, mask, is_causal=mask is None, scale=scoring.scale, enable_gqa=True
    )


def _repeated(keys: torch.Tensor, values: torch.Tensor, query: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values once for each of the query's heads."""
    shared = query.shape[1] // keys.shape[1]
    if shared == 1:
        return keys, values
    return keys.repeat_interleave(shared, 1), values.repeat_interleave(shared, 1)


def _capped(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None, scale: float, cap: float
) -> torch.Tensor:
    """The same, written out: torch's own has no soft-cap."""
    if mask is None:
        mask = torch.ones(query.shape[2], keys.shape[2], dtype=torch.bool, device=query.device).tril()
    scores = (query @ keys.transpose(-2, -1) * (scale / cap)).tanh() * cap
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1, dtype=torch.float32)
    return weights.to(values.dtype) @ values


def choose(choice: Choice, layers: Collection[LayerShape], like: torch.Tensor) -> tuple[Kernels, str]:
    """Return the kernels for a model with these layers and tensors ``like`` this one, and why they were chosen.

    Raises:
        ModelError: ``choice`` names kernels that cannot run here, or none at all; the message says why, and what to do.
    """
    if choice not in get_args(Choice):
        raise ModelError(f"unknown attention {choice!r}; use {', '.join(get_args(Choice))}")
    if choice == "sdpa":
        return SdpaKernels(), "as asked"
    passed_over: dict[str, list[str]] = {}
    for kind in (Flash2Kernels, Flash4Kernels):
        if choice not in ("auto", kind.name):
            continue
        kernels, found = _tried(kind, layers, like)
        if kernels is not None:
            return kernels, "; ".join([f"{kind.name} {found}", *_reasons(passed_over)])
        passed_over.setdefault(found, []).append(kind.name)
    if choice != "auto":
        raise ModelError(f"--attention {choice} cannot run here: {found}. --attention auto takes what runs")
    return SdpaKernels(), "; ".join(_reasons(passed_over))


def _reasons(passed_over: dict[str, list[str]]) -> list[str]:
    return [f"not {' nor '.join(names)}: {reason}" for reason, names in passed_over.items()]


def _tried(
    kind: type[Flash2Kernels | Flash4Kernels], layers: Collection[LayerShape], like: torch.Tensor
) -> tuple[Kernels | None, str]:
    """The kernels, if they run here and compute what they should, and what was found."""
    try:
        kernels = kind.load(layers, like)
        differences = [largest_difference(kernels, layer, like) for layer in _telling(layers)]
    except ModelError as error:
        return None, str(error)
    except Exception as error:  # what is built for another torch or GPU raises whatever it likes: another is tried
        _logger.warning("attention: %s does not run here", kind.name, exc_info=error)
        return None, f"it does not run: {type(error).__name__}: {error}"
    if all(difference < _TOLERANCE for difference in differences):  # which NaN is not
        return kernels, f"agrees with sdpa within {max(differences):.1e}"
    return None, f"it differs from sdpa by {', '.join(f'{difference:.1e}' for difference in differences)}"


def _telling(layers: Collection[LayerShape]) -> set[LayerShape]:
    """The layers' shapes, those with a window also with a small one: in a large one, a key too many changes little."""
    small = [replace(layer, scoring=replace(layer.scoring, window=_SMALL)) for layer in layers if layer.scoring.window]
    return {*layers, *small}


def largest_difference(kernels: Kernels, layer: LayerShape, like: torch.Tensor) -> float:
    """How far the results of ``kernels`` lie from those of :class:`SdpaKernels` in float32, on a small batch of each
    kind: ends of sequences longer than a block, and than the layer's window, and a whole short one.
    """
    generator = torch.Generator(like.device).manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, device=like.device, dtype=like.dtype)

    block = kernels.block_size
    lengths = [block + 30 + (layer.scoring.window or 0), block + 9, 20]
    width = -(-lengths[0] // block)
    tables = [[*range(row + 3 * width - 2, row, -3)] for row in range(3)]
    pools = [random(3 * width + 1, block, layer.key_heads, size) for size in (layer.key_size, layer.value_size)]
    reference, exact = SdpaKernels(block), (pools[0].float(), pools[1].float())
    differences = []
    for kind, queries in (("decode", [1, 1, 1]), ("chunks", [5, 27, 20])):
        query = random(sum(queries), layer.query_heads, layer.key_size)
        group = Group(queries, lengths, tables, block_size=block, device=like.device)
        result = getattr(kernels, kind)(query, (pools[0], pools[1]), group, layer.scoring)
        expected = getattr(reference, kind)(query.float(), exact, group, layer.scoring)
        differences.append((result - expected).abs().max())
    return float(torch.stack(differences).max())
