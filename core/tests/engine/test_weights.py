"""Which type a model's weights get, and why."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen3MoeConfig

from toolglot.engine import agreement, int8, weights
from toolglot.engine.agreement import check_prompts, choices
from toolglot.engine.model import Model
from toolglot.engine.weights import load_model
from toolglot.errors import ModelError

CPU = torch.device("cpu")


class Letters:
    """A tokenizer with a token for each character, up to a number."""

    eos_token_id = None

    def encode(self, text: str) -> list[int]:
        return [ord(letter) % 96 for letter in text]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("TOOLGLOT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def auto() -> Callable[[Path], tuple[Model, str]]:
    return lambda path: load_model(path, "auto", CPU, tokenizer=Letters())


@pytest.fixture
def enough(monkeypatch) -> Callable[[float], None]:
    return lambda share: monkeypatch.setattr(weights, "_ENOUGH", share)


@pytest.fixture
def compared(monkeypatch) -> list[Path]:
    """The checkpoints whose weights were compared in this test."""
    paths: list[Path] = []
    compare = weights._compared

    def noted(path: Path, *others: Any) -> tuple[Model | None, float]:
        paths.append(path)
        return compare(path, *others)

    monkeypatch.setattr(weights, "_compared", noted)
    return paths


def silent(done: float, total: float | None) -> None:
    pass


def test_choices_are_those_of_generate(checkpoint, generate):
    prompts = check_prompts(Letters())

    assert choices(Model(checkpoint, device=CPU), prompts, silent) == generate(checkpoint, prompts, 24)


def test_choices_end_at_a_stop_token(checkpoint, monkeypatch):
    prompts = check_prompts(Letters())
    model = Model(checkpoint, device=CPU)
    free = choices(model, prompts, silent)
    stop = free[0][5]
    model.config.eos_token_id = stop

    assert choices(model, prompts, silent) == [one[: one.index(stop) + 1] if stop in one else one for one in free]


def test_given_tokens_are_followed_whatever_is_chosen(checkpoint):
    prompts = check_prompts(Letters())
    given = [[(7 * place + len(prompt)) % 96 for place in range(24)] for prompt in prompts]

    chosen = choices(Model(checkpoint, device=CPU), prompts, silent, given=given)

    reference = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
    for prompt, forced, ours in zip(prompts, given, chosen, strict=True):
        logits = reference(torch.tensor([prompt + forced])).logits[0]
        assert ours == logits[len(prompt) - 1 : -1].argmax(-1).tolist()


def test_auto_is_int8_where_it_chooses_as_float32_does(checkpoint, auto, enough):
    enough(0.5)
    model, reason = auto(checkpoint)

    assert list(model.weights) == ["int8", "float32"]
    assert "int8 and float32 choose the same token at" in reason


def test_auto_is_float32_elsewhere(checkpoint, auto, enough):
    enough(1.01)
    model, reason = auto(checkpoint)

    assert list(model.weights) == ["float32"]
    assert reason.endswith("of the places compared; 101% are enough")


def test_the_share_is_that_of_the_tokens_that_are_the_same(checkpoint, auto, monkeypatch):
    answers = [[[1, 2], [3, 4]], [[1, 2], [3, 5]]]
    monkeypatch.setattr(agreement, "choices", lambda *_, **__: answers.pop(0))

    assert "the same token at 75.0% of the places" in auto(checkpoint)[1]


@pytest.mark.parametrize("share", [0.0, 1.01])
def test_weights_are_compared_once(checkpoint, auto, enough, compared, share):
    enough(share)

    first, again = auto(checkpoint), auto(checkpoint)

    assert compared == [checkpoint]
    assert first[1] == again[1]
    assert first[0].weights == again[0].weights


@pytest.mark.parametrize("change", ["weights", "config", "torch"])
def test_other_content_or_another_torch_is_compared_anew(checkpoint, auto, compared, tmp_path, monkeypatch, change):
    path = Path(shutil.copytree(checkpoint, tmp_path / "copy"))
    auto(checkpoint)
    auto(path)
    assert compared == [checkpoint]

    if change == "weights":
        model = AutoModelForCausalLM.from_pretrained(path)
        model.model.norm.weight.data += 1
        model.save_pretrained(path)
    elif change == "config":
        config = json.loads((path / "config.json").read_text())
        (path / "config.json").write_text(json.dumps(config | {"rms_norm_eps": 0.1}))
    else:
        monkeypatch.setattr(torch, "__version__", "2.99.0")
    auto(path)

    assert compared == [checkpoint, path]


def test_a_cache_that_cannot_be_written_costs_a_comparison_each_time(checkpoint, auto, compared, cache):
    cache.write_text("no directory")

    assert auto(checkpoint)[1] == auto(checkpoint)[1]
    assert compared == [checkpoint] * 2


def test_auto_is_float32_where_torch_has_no_kernel_for_int8(checkpoint, auto, compared, monkeypatch):
    monkeypatch.setattr(type(torch.backends.quantized), "supported_engines", ["qnnpack"])
    monkeypatch.setattr(int8, "input_steps", int8.input_steps.__wrapped__)

    model, reason = auto(checkpoint)

    assert list(model.weights) == ["float32"]
    assert "FBGEMM" in reason
    assert not compared
    with pytest.raises(ModelError, match="FBGEMM"):
        load_model(checkpoint, "int8", CPU, tokenizer=None)


def test_auto_is_float32_for_a_model_whose_code_cannot_do_with_int8_layers(checkpoint, auto, monkeypatch):
    class Odd(int8.Int8Linear):
        def forward(self, rows):
            return super().forward(rows.to(self.weight.dtype))  # as some code in transformers asks

    monkeypatch.setattr(int8, "Int8Linear", Odd)
    model, reason = auto(checkpoint)

    assert list(model.weights) == ["float32"]
    assert "the same token at 0.0% of the places" in reason
    with pytest.raises(ModelError, match=r"cannot run a model of type 'llama': .* no attribute 'weight'"):
        load_model(checkpoint, "int8", CPU, tokenizer=None)


def test_int8_is_for_cpus(tmp_path):
    with pytest.raises(ModelError, match="int8 weights are for CPUs; use --dtype bfloat16"):
        load_model(tmp_path, "int8", torch.device("cuda"), tokenizer=None)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_what_is_asked_for_is_not_compared(checkpoint, compared, dtype):
    model, reason = load_model(checkpoint, dtype, CPU, tokenizer=None)

    assert (next(iter(model.weights)), reason) == (dtype, "as asked")
    assert not compared


def test_int8_of_a_bfloat16_checkpoint_is_that_of_its_float32_copy(checkpoint, tmp_path):
    halved = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.bfloat16)
    halved.save_pretrained(tmp_path / "half")
    halved.float().save_pretrained(tmp_path / "whole")
    prompts = check_prompts(Letters())

    small, large = (Model(tmp_path / name, dtype="int8", device=CPU) for name in ("half", "whole"))

    assert choices(small, prompts, silent) == choices(large, prompts, silent)
    assert small.weights == large.weights


def test_an_embedding_that_is_the_head_too_stays_float32(save, shape):
    model = Model(save(LlamaConfig(**shape | {"tie_word_embeddings": True})), dtype="int8", device=CPU)

    embedding = model._network.get_input_embeddings().weight
    assert model.weights["int8"] > embedding.numel()  # the head is among them
    assert model.weights["float32"] == embedding.numel() + 5 * 32  # and the norms
    assert embedding.dtype == torch.float32


def test_experts_stay_float32(save, shape):
    experts = {"head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
    model = Model(save(Qwen3MoeConfig(**shape | experts)), dtype="int8", device=CPU)

    assert model.weights["float32"] > 2 * 4 * 3 * 16 * 32


async def test_requests_are_served_the_same_alone_and_together(each_checkpoint, serve, collect):
    engine = await serve(each_checkpoint, dtype="int8")
    prompts = check_prompts(Letters())

    alone = [await collect(engine, prompt, 12) for prompt in prompts]
    together = await asyncio.gather(*(collect(engine, prompt, 12) for prompt in prompts))

    assert together == alone
    assert engine.info.facts["dtype"] == "int8"
    assert engine.info.facts["dtype_reason"] == "as asked"
    assert " int8 and " in engine.info.facts["weights"]
