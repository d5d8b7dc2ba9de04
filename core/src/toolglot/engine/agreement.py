"""What a model chooses after some fixed prompts, to compare its weights of one type with those of another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence as Seq
from typing import Any, Final

import torch

from toolglot.checkpoints.progress import Report
from toolglot.engine.attention import BatchStep
from toolglot.engine.batch import Batch
from toolglot.engine.kernels import SdpaKernels
from toolglot.engine.kv_cache import KVCache
from toolglot.engine.model import Model
from toolglot.engine.protocol import SamplingParams
from toolglot.engine.scheduler import Piece
from toolglot.engine.sequence import Sequence

REVISION: Final = 1
"""Raised when prompts or lengths change."""

_TOKENS: Final = 24
_TEXTS: Final = (
    "The capital of France is Paris. The capital of Norway is",
    "Water boils at 100 degrees Celsius, because",
    "Once upon a time, in a small house by the sea, there lived",
    "def add(first: int, second: int) -> int:\n    ",
    'User: What is the weather in Oslo?\nCall: {"name": "get_weather", "arguments": {',
    '{"title": "Dentist", "date": "2026-03-05", "attendees": [',
    "English: Good morning, how are you?\nFrench:",
    "A short list of fruits:\n1.",
)


def check_prompts(tokenizer: Any) -> list[list[int]]:
    """Beginnings of prose, code, calls and lists."""
    return [tokenizer.encode(text) for text in _TEXTS]


@torch.inference_mode()
def choices(
    model: Model, prompts: Seq[Seq[int]], report: Report, *, given: Seq[Seq[int]] | None = None
) -> list[list[int]]:
    """The tokens that ``model`` finds most probable after each prompt, up to a stop token: each after those before it,
    or, where ``given`` has the tokens that follow the prompts, after those.
    """
    kernels = SdpaKernels()
    size = kernels.block_size
    width = -(-(max(map(len, prompts)) + _TOKENS) // size)
    cache = KVCache(model.layers, blocks=width * len(prompts), block_size=size, like=model.like)
    live = [_sequence(prompt, range(at * width, (at + 1) * width)) for at, prompt in enumerate(prompts)]
    chosen: dict[Sequence, list[int]] = {sequence: [] for sequence in live}
    follows = chosen if given is None else dict(zip(live, given, strict=True))
    for step in range(_TOKENS):
        report(step, _TOKENS)
        batch = Batch([Piece(one, one.pending) for one in live], block_size=size, device=model.device)
        best = model.forward(BatchStep(batch, cache, kernels)).argmax(-1)
        for piece, token in zip(batch.pieces, best.tolist(), strict=True):
            piece.sequence.computed = piece.end
            chosen[piece.sequence].append(token)
            piece.sequence.tokens.append(follows[piece.sequence][step])
        live = [one for one in live if one.tokens[-1] not in model.stop_ids]
        if not live:
            break
    return [*chosen.values()]


def _sequence(prompt: Seq[int], blocks: Seq[int]) -> Sequence:
    greedy = SamplingParams(max_tokens=_TOKENS, temperature=0)
    return Sequence([*prompt], greedy, None, 0, asyncio.Queue(), blocks=[*blocks])
