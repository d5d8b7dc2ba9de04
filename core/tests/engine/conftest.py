"""Engines to test with: the demo model, loaded once, and tiny models with random weights, made here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedConfig, Qwen2Config

from toolglot.checkpoints import Checkpoint, load_tokenizer, resolve
from toolglot.engine.local import LocalEngine
from toolglot.engine.protocol import SamplingParams

SHAPE: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.5,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
TINY: dict[str, type[PreTrainedConfig]] = {"llama": LlamaConfig, "qwen2": Qwen2Config}


@pytest.fixture(scope="session")
def shape() -> dict[str, Any]:
    """The arguments of a tiny model's config."""
    return SHAPE


@pytest.fixture(scope="session")
def save(tmp_path_factory: pytest.TempPathFactory) -> Callable[[PreTrainedConfig], Path]:
    """Save a model of a config, with the same random weights every time."""

    def save(config: PreTrainedConfig) -> Path:
        path = tmp_path_factory.mktemp(config.model_type)
        torch.manual_seed(7)
        AutoModelForCausalLM.from_config(config).save_pretrained(path)
        return path

    return save


@pytest.fixture(scope="session")
def checkpoint(save: Callable[[PreTrainedConfig], Path]) -> Path:
    return save(LlamaConfig(**SHAPE))


@pytest.fixture(scope="session")
def endless(save: Callable[[PreTrainedConfig], Path]) -> Path:
    """A model that generates for longer than any test lasts."""
    return save(LlamaConfig(**SHAPE | {"max_position_embeddings": 1_000_000}))


@pytest.fixture(scope="session", params=sorted(TINY))
def each_checkpoint(request: pytest.FixtureRequest, save: Callable[[PreTrainedConfig], Path]) -> Path:
    return save(TINY[request.param](**SHAPE))


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[LocalEngine]]]:
    """Start engines of tiny checkpoints; they are stopped when the test is over."""
    engines: list[LocalEngine] = []

    async def start(path: Path, *, eos: int | None = None, **settings: Any) -> LocalEngine:
        engine = LocalEngine(path, name="tiny", tokenizer=SimpleNamespace(eos_token_id=eos), threads=1, **settings)
        engines.append(engine)
        await engine.start()
        return engine

    yield start
    for engine in engines:
        await engine.stop()


@pytest.fixture(scope="session")
def demo() -> Checkpoint:
    return resolve(None, quiet=True)


@pytest.fixture(scope="session")
def demo_tokenizer(demo: Checkpoint) -> Any:
    return load_tokenizer(demo.path)


@pytest.fixture(scope="session")
def loaded_demo(demo: Checkpoint, demo_tokenizer: Any) -> LocalEngine:
    return LocalEngine(demo.path, name=demo.name, tokenizer=demo_tokenizer, threads=1)


@pytest.fixture
async def demo_engine(loaded_demo: LocalEngine) -> AsyncIterator[LocalEngine]:
    await loaded_demo.start()
    yield loaded_demo
    await loaded_demo.stop()


@pytest.fixture(scope="session")
def collect() -> Callable[..., Awaitable[tuple[list[int], str | None]]]:
    """Run a request, greedy unless told otherwise, to its end; returns its tokens and its finish."""

    async def collect(
        engine: LocalEngine, prompt: Sequence[int], max_tokens: int = 8, constraint: Any = None, **sampling: Any
    ) -> tuple[list[int], str | None]:
        params = SamplingParams(max_tokens=max_tokens, **{"temperature": 0, **sampling})
        deltas = [delta async for delta in engine.submit(prompt, params, constraint)]
        assert all(delta.finish is None for delta in deltas[:-1])
        return [token for delta in deltas for token in delta.token_ids], deltas[-1].finish

    return collect


@pytest.fixture(scope="session")
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Wait for what another thread brings about."""

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110  # an engine's thread sets no event
                await asyncio.sleep(0.005)

    return until


@pytest.fixture(scope="session")
def generate() -> Callable[..., list[list[int]]]:
    """What transformers' ``generate`` says greedily to each prompt, without the stop token."""

    def generate(path: Path, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[list[int]]:
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        stops = model.generation_config.eos_token_id or []
        outputs = []
        for prompt in prompts:
            ids = torch.tensor([prompt])
            mask = torch.ones_like(ids)
            said = model.generate(ids, attention_mask=mask, max_new_tokens=max_tokens, do_sample=False, pad_token_id=0)
            tokens = said[0, len(prompt) :].tolist()
            outputs.append(tokens[:-1] if tokens[-1] in stops else tokens)
        return outputs

    return generate
