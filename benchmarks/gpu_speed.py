"""How fast a model with random weights runs, next to what the device's memory and its matrix units give at best."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import torch
from msgspec import Struct
from transformers import AutoModelForCausalLM, LlamaConfig

from benchmarks.contenders import Prompts
from toolglot.engine import attention, graphs, kernels
from toolglot.engine import model as models
from toolglot.engine.attention import BatchStep
from toolglot.engine.batch import Batch
from toolglot.engine.graphs import Graphs
from toolglot.engine.kv_cache import KVCache, token_bytes
from toolglot.engine.local import LocalEngine
from toolglot.engine.model import Model
from toolglot.engine.protocol import SamplingParams
from toolglot.engine.scheduler import Piece
from toolglot.engine.sequence import Sequence

BATCHES: Final = (1, 8, 32, 128)


class Size(Struct, frozen=True):
    """A model like Llama, and how much is measured of it."""

    hidden: int
    inner: int
    layers: int
    heads: int
    key_heads: int
    vocabulary: int
    prompt: int
    """Tokens of prefill, and of what was read before in decoding."""
    rounds: int
    """How often each pass is taken."""
    batches: tuple[int, ...] = BATCHES


SIZES: Final = {
    "tiny": Size(64, 128, 2, 4, 2, 512, prompt=48, rounds=2, batches=(1, 3)),
    "1b": Size(2048, 8192, 16, 32, 8, 128_256, prompt=2048, rounds=20),
    "8b": Size(4096, 14_336, 32, 32, 8, 128_256, prompt=2048, rounds=20),
}


class Best(Struct):
    """What the device gives, measured."""

    bandwidth: float
    """Bytes a second that a copy reads and writes."""
    matmul: float
    """Operations a second of a large product of matrices."""


class Speed(Struct):
    """One measurement."""

    what: str
    """``prefill`` or ``decode`` for forward passes alone, ``engine`` for decoding with everything around them."""
    attention: str
    decoding: str
    batch: int
    milliseconds: float
    """For a pass."""
    rate: float
    """Tokens a second."""
    share: float | None = None
    """Of the best: of the matrix units in prefill, of the memory's bandwidth in decoding."""


def synchronize(device: torch.device) -> None:
    """Wait for what was begun."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(device: torch.device, work: Callable[[], object], rounds: int) -> float:
    """How long ``work`` takes, after it was done twice."""
    for _ in range(2):
        work()
    synchronize(device)
    start = time.perf_counter()
    for _ in range(rounds):
        work()
    synchronize(device)
    return (time.perf_counter() - start) / rounds


def best(device: torch.device, *, large: bool) -> Best:
    """Measure the device."""
    source = torch.zeros(1 << (31 if large else 22), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copied = seconds(device, lambda: target.copy_(source), 10)
    side = 8192 if large else 256
    left, right = (torch.randn(side, side, dtype=torch.bfloat16, device=device) for _ in range(2))
    multiplied = seconds(device, lambda: left @ right, 10)
    return Best(2 * len(source) / copied, 2 * side**3 / multiplied)


def random_network(size: Size, device: torch.device) -> Any:
    """Transformers' model with random weights, made on the device: nothing is read from a disk."""
    config = LlamaConfig(
        vocab_size=size.vocabulary, hidden_size=size.hidden, intermediate_size=size.inner,
        num_hidden_layers=size.layers, num_attention_heads=size.heads, num_key_value_heads=size.key_heads,
        max_position_embeddings=size.prompt + 1024, bos_token_id=None, eos_token_id=None, pad_token_id=None,
    )  # fmt: skip
    with device:
        return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation=attention.NAME)


class Bench:
    """Measures one network."""

    def __init__(self, size: Size, device: torch.device) -> None:
        self.size, self.device = size, device
        self.best = best(device, large=device.type == "cuda")
        self._network = random_network(size, device)
        with self._loading():
            self.model = Model(Path("random"), dtype="bfloat16", device=device)
        self._weights = sum(each.numel() for each in self._network.parameters()) - size.vocabulary * size.hidden

    def passes(self, choice: kernels.Choice) -> Iterator[Speed]:
        """Forward passes with one attention: prefill, and decoding with graphs and without.

        Raises:
            ModelError: it does not run here.
        """
        chosen, _ = kernels.choose(choice, self.model.layers, self.model.like)
        width = -(-(self.size.prompt + 1) // chosen.block_size)
        spare = width * max(self.size.batches)
        cache = KVCache(self.model.layers, blocks=spare + 1, block_size=chosen.block_size, like=self.model.like)
        step = self._step(cache, chosen, batch=1, count=self.size.prompt)
        yield self._prefill(chosen.name, seconds(self.device, partial(self.model.forward, step), self.size.rounds))
        for decoding, runner in self._runners(chosen, cache, spare).items():
            for batch in self.size.batches:
                step = self._step(cache, chosen, batch=batch, count=1)
                took = seconds(self.device, partial(runner.forward, step), self.size.rounds)
                yield self._decode(chosen.name, decoding, batch, took)

    def engine(self, decoding: str) -> Iterator[Speed]:
        """Decoding of the whole engine, with the attention that it chooses."""
        with self._loading():
            engine = LocalEngine(
                Path("random"), name="random", tokenizer=SimpleNamespace(eos_token_id=None), dtype="bfloat16",
                max_model_len=512, max_num_seqs=max(self.size.batches), enforce_eager=decoding == "eager",
            )  # fmt: skip
        with asyncio.Runner() as runner:
            runner.run(engine.start())
            facts = engine.info.facts
            for batch in self.size.batches:
                took = runner.run(_step_seconds(engine, batch, 4 * self.size.rounds))
                found = _decoding(facts.get("cuda_graphs", "none on the CPU"))
                yield Speed("engine", facts["attention"], found, batch, 1e3 * took, batch / took)
            runner.run(engine.stop())

    def _loading(self) -> Any:
        return patch.object(models, "_load", lambda *_: self._network)

    def _runners(self, chosen: kernels.Kernels, cache: KVCache, spare: int) -> dict[str, Model | Graphs]:
        capture = graphs.capture_on(self.device)
        if capture is None or not chosen.capturable:
            return {"eager": self.model}
        replaying = Graphs(
            self.model, chosen, cache, capture=capture,
            max_num_seqs=max(self.size.batches), max_model_len=self.size.prompt + 1, spare_block=spare,
        )  # fmt: skip
        return {"eager": self.model, _decoding(replaying.found): replaying}

    def _step(self, cache: KVCache, chosen: kernels.Kernels, *, batch: int, count: int) -> BatchStep:
        """The last ``count`` tokens of some sequences."""
        length = self.size.prompt
        width = -(-length // chosen.block_size)
        pieces = []
        for row in range(batch):
            blocks = [*range(row * width, (row + 1) * width)]
            tokens = [(row + at) % self.size.vocabulary for at in range(length)]
            one = Sequence(tokens, SamplingParams(max_tokens=1), None, 0, asyncio.Queue(), blocks=blocks)
            one.computed = length - count
            pieces.append(Piece(one, count))
        return BatchStep(Batch(pieces, block_size=chosen.block_size, device=self.device), cache, chosen)

    def _prefill(self, name: str, took: float) -> Speed:
        size, tokens = self.size, self.size.prompt
        linear = 2 * tokens * (self._weights - size.vocabulary * size.hidden)  # the head sees one token
        scores = 2 * tokens**2 * size.hidden * size.layers  # two products, of which causality halves each
        return Speed(
            "prefill", name, "eager", 1, 1e3 * took, tokens / took, (linear + scores) / took / self.best.matmul
        )

    def _decode(self, name: str, decoding: str, batch: int, took: float) -> Speed:
        cached = batch * self.size.prompt * token_bytes(self.model.layers, self.model.dtype)
        read = self._weights * self.model.dtype.itemsize + cached
        return Speed("decode", name, decoding, batch, 1e3 * took, batch / took, read / took / self.best.bandwidth)


def _decoding(found: str) -> str:
    """``graphs``, if there are any."""
    return f"eager (graphs: {found})" if found.startswith("none") else "graphs"


async def _step_seconds(engine: LocalEngine, batch: int, tokens: int) -> float:
    """How long one step takes in which each of ``batch`` requests gets a token."""
    await _continue(engine, batch, 2)
    short, long = [min([await _continue(engine, batch, count) for _ in range(2)]) for count in (1, 1 + tokens)]
    return (long - short) / tokens


async def _continue(engine: LocalEngine, batch: int, tokens: int) -> float:
    start = time.perf_counter()
    prompts: Prompts = [[(row + at) % engine.info.vocab_size for at in range(16)] for row in range(batch)]
    await asyncio.gather(*(_one(engine, prompt, tokens) for prompt in prompts))
    return time.perf_counter() - start


async def _one(engine: LocalEngine, prompt: Any, tokens: int) -> None:
    async for _ in engine.submit(prompt, SamplingParams(max_tokens=tokens, temperature=0, ignore_eos=True)):
        pass
