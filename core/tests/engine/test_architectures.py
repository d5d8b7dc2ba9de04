"""Greedy output is that of transformers' ``generate`` for each architecture, whatever else is going on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import (
    DeepseekV3Config,
    Gemma2Config,
    Gemma3TextConfig,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
    Qwen3MoeConfig,
)

from toolglot.engine import local
from toolglot.engine.local import LocalEngine
from toolglot.engine.protocol import SamplingParams

MAX_TOKENS = 20
SHARED = [(n * 37 + 11) % 96 for n in range(120)]
PROMPTS = [
    *[SHARED[:length] for length in (1, 2, 5, 31, 32, 33, 64, 65, 96, 120)],  # each begins the next
    *[[*SHARED[:50], n] for n in range(3)],
    *[[(n * 13 + length) % 96 for n in range(length)] for length in (1, 3, 8, 17, 40, 64, 77)],
]
"""Twenty of mixed lengths."""

SLIDING = {"sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]}
GEMMA = {"head_dim": 8, "query_pre_attn_scalar": 8, "tie_word_embeddings": False, **SLIDING}
ARCHITECTURES: dict[str, tuple[type[PreTrainedConfig], dict[str, Any]]] = {
    "llama": (LlamaConfig, {}),
    "qwen2": (Qwen2Config, {}),
    "qwen3": (Qwen3Config, {"head_dim": 8}),
    "mistral, sliding window": (MistralConfig, {"sliding_window": 16}),
    "gemma2, sliding window and soft-cap": (
        Gemma2Config,
        {"attn_logit_softcapping": 5.0, **GEMMA},
    ),
    "gemma3, sliding window": (Gemma3TextConfig, GEMMA),
    "qwen3_moe": (
        Qwen3MoeConfig,
        {"head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
    ),
    "deepseek_v3, latent attention": (
        DeepseekV3Config,
        {
            "q_lora_rank": 16,
            "kv_lora_rank": 16,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 8,
            "v_head_dim": 12,
            "num_key_value_heads": 4,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "n_group": 1,
            "topk_group": 1,
            "moe_intermediate_size": 16,
            "first_k_dense_replace": 1,
        },
    ),
}


class Run:
    """What an engine says to all prompts at once, and how much of them it found in its cache."""

    def __init__(self, outputs: list[tuple[list[int], int]]) -> None:
        self.outputs = [tokens for tokens, _ in outputs]
        self.cached = [cached for _, cached in outputs]

    @classmethod
    async def of(cls, engine: LocalEngine) -> Run:
        return cls(await asyncio.gather(*(ask(engine, prompt) for prompt in PROMPTS)))


async def ask(engine: LocalEngine, prompt: list[int]) -> tuple[list[int], int]:
    sampling = SamplingParams(max_tokens=MAX_TOKENS, temperature=0)
    deltas = [delta async for delta in engine.submit(prompt, sampling)]
    assert all(delta.cached_tokens == 0 for delta in deltas[1:])
    return [token for delta in deltas for token in delta.token_ids], deltas[0].cached_tokens


@pytest.fixture(params=ARCHITECTURES)
def path(request: pytest.FixtureRequest, save: Callable[..., Path], shape: dict[str, Any]) -> Path:
    config, settings = ARCHITECTURES[request.param]
    return save(config(**shape | settings))


async def test_greedy_output_is_generates(path, serve, reference, cache_of, preemptions, monkeypatch, record_property):
    expected = reference(path, PROMPTS, MAX_TOKENS)
    assert all(len(set(said.tokens)) > 5 for said in expected)  # not one token over and over, which would show little
    runs: dict[str, Run] = {}

    runs["one at a time"] = await Run.of(await serve(path, max_num_seqs=1))
    engine = await serve(path, max_num_seqs=16)
    runs["sixteen at once"] = await Run.of(engine)
    runs["prompts that are known"] = again = await Run.of(engine)
    assert again.cached == [(len(prompt) - 1) // 32 * 32 for prompt in PROMPTS]
    assert not preemptions
    monkeypatch.setitem(local._BATCH_TOKENS, "cpu", 13)
    runs["in small chunks"] = await Run.of(await serve(path, max_num_seqs=5))
    cache_of(200, 4)
    runs["in a tiny cache"] = await Run.of(await serve(path, max_num_seqs=16))
    assert preemptions

    left = {
        name: sum(said.is_left_by(tokens) for said, tokens in zip(expected, run.outputs, strict=True))
        for name, run in runs.items()
    }
    outputs = len(PROMPTS) * len(runs)
    record_property("near ties", f"{sum(left.values())} in {outputs} outputs; {len(preemptions)} preemptions")
