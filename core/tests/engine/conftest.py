"""Engines to test with: the demo model, loaded once, and tiny models with random weights, made here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from collections.abc import Sequence as Seq
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from msgspec import Struct
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedConfig, Qwen2Config

from toolglot.checkpoints import Checkpoint, load_tokenizer, resolve
from toolglot.engine import kernels, local
from toolglot.engine.kernels import SdpaKernels
from toolglot.engine.local import LocalEngine
from toolglot.engine.protocol import SamplingParams
from toolglot.engine.scheduler import Scheduler
from toolglot.engine.sequence import Sequence

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
NEAR_TIE = 1e-3
"""How close the logits of the two most probable tokens are where rounding may decide between them."""
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
        engine = LocalEngine(
            path,
            name="tiny",
            tokenizer=SimpleNamespace(eos_token_id=eos),
            threads=1,
            **{"dtype": "float32", **settings},
        )
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
    return LocalEngine(demo.path, name=demo.name, tokenizer=demo_tokenizer, dtype="float32", threads=1)


@pytest.fixture
async def demo_engine(loaded_demo: LocalEngine) -> AsyncIterator[LocalEngine]:
    await loaded_demo.start()
    yield loaded_demo
    await loaded_demo.stop()


@pytest.fixture(scope="session")
def collect() -> Callable[..., Awaitable[tuple[list[int], str | None]]]:
    """Run a request, greedy unless told otherwise, to its end; returns its tokens and its finish."""

    async def collect(
        engine: LocalEngine, prompt: Seq[int], max_tokens: int = 8, constraint: Any = None, **sampling: Any
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
def reference() -> Callable[..., list[Said]]:
    """What transformers' ``generate`` says greedily to each prompt."""

    def reference(path: Path, prompts: Seq[Seq[int]], max_tokens: int) -> list[Said]:
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        return [_say(model, prompt, max_tokens) for prompt in prompts]

    return reference


@pytest.fixture(scope="session")
def generate(reference: Callable[..., list[Said]]) -> Callable[..., list[list[int]]]:
    """The same, without how sure it was."""
    return lambda *asked: [said.tokens for said in reference(*asked)]


class Said(Struct, frozen=True):
    """One output of the reference."""

    tokens: list[int]
    """Without the stop token."""
    margins: list[float]
    """By how much the logit of each token, the stop token too, was above the next one's."""

    def is_left_by(self, tokens: list[int]) -> bool:
        """Whether ``tokens`` leave this path, which is allowed where rounding may decide between two tokens."""
        if tokens == self.tokens:
            return False
        pairs = zip(tokens, self.tokens, strict=False)
        shorter = min(len(tokens), len(self.tokens))
        at = next((place for place, (one, other) in enumerate(pairs) if one != other), shorter)
        assert self.margins[at] < NEAR_TIE, f"from token {at} on: {tokens[at:]}, not {self.tokens[at:]}"
        return True


def _say(model: Any, prompt: Seq[int], max_tokens: int) -> Said:
    ids = torch.tensor([prompt])
    output = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=max_tokens, do_sample=False, pad_token_id=0,
        return_dict_in_generate=True, output_logits=True,
    )  # fmt: skip
    tokens = output.sequences[0, len(prompt) :].tolist()
    margins = [float(-row[0].topk(2).values.diff()) for row in output.logits]
    ended = tokens[-1] in (model.generation_config.eos_token_id or [])
    return Said(tokens[:-1] if ended else tokens, margins)


@pytest.fixture
def preemptions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long each sequence was that has been preempted in this test."""
    lengths: list[int] = []
    preempt = Scheduler._preempt

    def noted(self: Scheduler) -> Sequence:
        sequence = preempt(self)
        lengths.append(len(sequence.tokens))
        return sequence

    monkeypatch.setattr(Scheduler, "_preempt", noted)
    return lengths


@pytest.fixture
def cache_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Give the engines that are made after it a cache of so many tokens, in blocks of so many."""

    def cache_of(tokens: int, block_size: int) -> None:
        monkeypatch.setattr(local, "token_bytes", lambda layers, dtype: 1)
        monkeypatch.setattr(local, "memory_for_cache", lambda device: tokens)
        monkeypatch.setattr(kernels, "SdpaKernels", partial(SdpaKernels, block_size))

    return cache_of


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tell what tests have counted."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{report.nodeid}: {name}: {value}")
