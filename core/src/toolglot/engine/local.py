"""The embedded engine: a model in this process, behind the engine protocol."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Sequence as Seq
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import torch

from toolglot.engine import kernels
from toolglot.engine.kv_cache import KVCache, token_bytes
from toolglot.engine.loop import Loop
from toolglot.engine.model import Model
from toolglot.engine.protocol import Constraint, ModelInfo, SamplingParams
from toolglot.engine.sequence import Outcome, Sequence, TokenStream
from toolglot.errors import EngineError, GrammarError, ModelError, QueueFullError
from toolglot.structural_tag import StructuralTag

_logger = logging.getLogger(__name__)

_BATCH_TOKENS: Final = {"cpu": 256, "cuda": 8192}
"""How many tokens one step takes in: enough to keep the device busy, few enough that streams do not stall."""


class LocalEngine:
    """Runs the checkpoint in ``path``. The model is loaded at construction; requests run between start and stop.

    Args:
        path: A directory that transformers loads.
        name: The model's name in :attr:`info`.
        tokenizer: Its tokenizer: for the grammars, and for its end of sequence.
        dtype: ``float32``, ``bfloat16``, or ``auto``: float32 on the CPU, bfloat16 on CUDA.
        threads: torch's threads on the CPU; one less than there are cores by default. A setting of the whole process.
        max_model_len: The longest prompt and output together, in tokens; by default what model and memory allow.
        max_num_seqs: How many requests run at once.
        max_queue: How many more may wait.
        attention: ``flash``, ``sdpa``, or ``auto``: flash-attn where it runs.
        seed: Makes requests without a seed of their own reproducible, given the same order of requests.

    Raises:
        ModelError: the model does not load or cannot be run here; the message says why.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str,
        tokenizer: Any,
        dtype: str = "auto",
        threads: int | None = None,
        max_model_len: int | None = None,
        max_num_seqs: int = 16,
        max_queue: int = 256,
        attention: kernels.Choice = "auto",
        seed: int | None = None,
    ) -> None:
        torch.set_num_threads(threads or max(1, (os.cpu_count() or 1) - 1))
        self._tokenizer = tokenizer
        self._max_num_seqs, self._max_queue = max_num_seqs, max_queue
        self._seeds = random.Random(seed)
        self._model = Model(path, dtype=dtype, device=torch.device("cuda" if torch.cuda.is_available() else "cpu"))
        like = torch.empty(0, dtype=self._model.dtype, device=self._model.device)
        key_heads, size = self._model.heads[0]
        self._kernels, reason = kernels.choose(
            attention, heads=self._model.query_heads, key_heads=key_heads, size=size, like=like
        )
        ...
