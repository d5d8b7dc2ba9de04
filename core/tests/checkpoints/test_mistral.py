"""Mistral's own layout of checkpoints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, MistralConfig, MistralForCausalLM
from transformers.models.mistral.modeling_mistral import apply_rotary_pos_emb

from toolglot.checkpoints import Checkpoint, resolve, tokenizer_mode
from toolglot.checkpoints.mistral import halves_together
from toolglot.errors import ModelError

PARAMS: dict[str, Any] = {
    "dim": 32, "n_layers": 2, "head_dim": 8, "hidden_dim": 48, "n_heads": 4, "n_kv_heads": 2, "norm_eps": 1e-5,
    "vocab_size": 96, "rope_theta": 5e5,
}  # fmt: skip
THEIRS = {
    "self_attn.q_proj": "attention.wq",
    "self_attn.k_proj": "attention.wk",
    "self_attn.v_proj": "attention.wv",
    "self_attn.o_proj": "attention.wo",
    "input_layernorm": "attention_norm",
    "mlp.gate_proj": "feed_forward.w1",
    "mlp.down_proj": "feed_forward.w2",
    "mlp.up_proj": "feed_forward.w3",
    "post_attention_layernorm": "ffn_norm",
    "model.embed_tokens": "tok_embeddings",
    "model.norm": "norm",
    "lm_head": "output",
    "model.": "",
}
IDS = torch.tensor([[(n * 37 + 11) % 96 for n in range(40)]])

Write = Callable[..., Path]


@pytest.fixture(scope="session")
def model() -> MistralForCausalLM:
    torch.manual_seed(5)
    config = MistralConfig(
        vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, head_dim=8,
        num_key_value_heads=2, rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 5e5},
        sliding_window=None, initializer_range=0.5,
    )  # fmt: skip
    return MistralForCausalLM(config).eval()


@pytest.fixture
def write(tmp_path: Path, model: MistralForCausalLM) -> Write:
    """Write the model as Mistral does, with other parameters, weights besides, or in several files."""

    def write(parts: int = 1, weights: dict[str, torch.Tensor] | None = None, **params: Any) -> Path:
        folder = tmp_path / "theirs"
        folder.mkdir(exist_ok=True)
        (folder / "params.json").write_text(json.dumps(PARAMS | params))
        everything = {theirs(name): neighbours_together(name, value) for name, value in model.state_dict().items()}
        everything |= weights or {}
        names = sorted(everything)
        for part in range(parts):
            suffix = "" if parts == 1 else f"-{part + 1:05}-of-{parts:05}"
            held = {name: everything[name].contiguous() for name in names[part::parts]}
            save_file(held, folder / f"consolidated{suffix}.safetensors")
        return folder

    return write


def theirs(name: str) -> str:
    for ours, their in THEIRS.items():
        name = name.replace(ours, their)
    return name


def neighbours_together(name: str, weight: torch.Tensor) -> torch.Tensor:
    heads = 4 if "q_proj" in name else 2 if "k_proj" in name else None
    if heads is None:
        return weight
    return weight.view(heads, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape)


@pytest.mark.parametrize("parts", [1, 3])
@torch.inference_mode()
def test_the_logits_are_those_of_the_same_model_in_transformers_format(write, model, parts):
    checkpoint = resolve(str(write(parts)), quiet=True)

    loaded = AutoModelForCausalLM.from_pretrained(checkpoint.path, dtype="auto").eval()
    assert checkpoint.name == "theirs"
    assert torch.equal(loaded(IDS).logits, model(IDS).logits)


def test_heads_that_rotate_neighbours_become_heads_that_rotate_halves():
    torch.manual_seed(2)
    weights, state = torch.randn(2, 4 * 8, 32), torch.randn(12, 32)
    angles = torch.arange(12)[:, None] * 100.0 ** -(torch.arange(0, 8, 2) / 8)

    def mistrals(weight: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex((state @ weight.T).view(12, 4, 4, 2))
        turned = pairs * torch.polar(torch.ones_like(angles), angles)[:, None]
        return torch.view_as_real(turned).flatten(2).transpose(0, 1)

    query, key = ((state @ halves_together(weight, 4).T).view(1, 12, 4, 8).transpose(1, 2) for weight in weights)
    both = torch.cat((angles, angles), -1)[None]
    query, key = apply_rotary_pos_emb(query, key, both.cos(), both.sin())

    expected = mistrals(weights[0]) @ mistrals(weights[1]).transpose(1, 2)
    assert torch.allclose(query[0] @ key[0].transpose(1, 2), expected, atol=1e-3)


def test_parameters_become_transformers_config(write):
    path = resolve(str(write(sliding_window=64, max_seq_len=512, tied_embeddings=True)), quiet=True).path

    config = MistralConfig.from_pretrained(path)
    assert (config.sliding_window, config.max_position_embeddings, config.tie_word_embeddings) == (64, 512, True)
    assert config.rope_parameters["rope_theta"] == 5e5
    assert config.architectures == ["MistralForCausalLM"]


def test_parameters_that_are_left_out_have_mistrals_defaults(write):
    path = resolve(str(write(rope_theta=None, sliding_window=None)), quiet=True).path

    config = MistralConfig.from_pretrained(path)
    assert (config.sliding_window, config.rope_parameters["rope_theta"]) == (None, 10_000)


def test_the_type_of_the_weights_and_the_tokenizer_are_kept(write, model):
    halved = {theirs(name): value.bfloat16() for name, value in model.state_dict().items()}
    folder = write(weights=halved)
    (folder / "tekken.json").write_text("{}")

    path = resolve(str(folder), quiet=True).path

    assert {weight.dtype for weight in load_file(path / "model.safetensors").values()} == {torch.bfloat16}
    assert MistralConfig.from_pretrained(path).dtype == torch.bfloat16
    assert tokenizer_mode(path) == "mistral"


def test_it_is_converted_once(write, monkeypatch):
    folder = write()
    first = resolve(str(folder), quiet=True)
    monkeypatch.setattr("toolglot.checkpoints.mistral.convert", None)

    assert resolve(str(folder), quiet=True) == first


def test_transformers_files_come_first_unless_told_otherwise(write, model):
    folder = write()
    model.save_pretrained(folder)

    assert resolve(str(folder)) == resolve(str(folder), layout="hf") == Checkpoint(folder, "theirs")
    assert resolve(str(folder), layout="mistral", quiet=True).path != folder
    (folder / "config.json").unlink()
    with pytest.raises(ModelError, match=r"has no config\.json"):
        resolve(str(folder), layout="hf")


@pytest.mark.parametrize(
    ("layout", "left"),
    [("auto", ["consolidated*", "model*.safetensors*"]), ("mistral", ["model*.safetensors*"])],
)
def test_of_the_hub_the_weights_that_are_not_read_are_left_out(write, monkeypatch, layout, left):
    folder, left_out = write(), []

    def snapshot_download(name: str, *, ignore_patterns: list[str], **_: object) -> str:
        left_out.append(ignore_patterns[-1])
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)

    checkpoint = resolve("someone/model", layout=layout, quiet=True)

    assert checkpoint.name == "someone/model"
    assert checkpoint.path != folder
    assert left_out == left


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"moe": {"num_experts": 8}}, r"params\.json has moe: .*only dense models of text are read"),
        ({"vision_encoder": {"hidden_size": 8}, "yarn": {"factor": 4}}, "has vision_encoder, yarn"),
        ({"sliding_window": [64, None]}, "has sliding_window"),
        ({"use_biases": True}, "has use_biases"),
        ({"n_layers": None}, "lacks n_layers"),
    ],
)
def test_other_models_are_refused(write, params, message):
    with pytest.raises(ModelError, match=message):
        resolve(str(write(**params)))


def test_a_weight_that_a_dense_model_does_not_have_is_refused(write):
    odd = {"layers.0.attention.wq.lora": torch.ones(2)}

    with pytest.raises(ModelError, match=r"layers\.0\.attention\.wq\.lora is no weight of a dense Mistral model"):
        resolve(str(write(weights=odd)), quiet=True)


def test_what_cannot_be_read_is_named(write):
    folder = write()
    (folder / "consolidated.safetensors").write_bytes(b"broken")
    with pytest.raises(ModelError, match=r"consolidated\.safetensors cannot be read"):
        resolve(str(folder), quiet=True)
    (folder / "consolidated.safetensors").unlink()
    with pytest.raises(ModelError, match=r"has no consolidated\*\.safetensors"):
        resolve(str(folder), quiet=True)
    (folder / "params.json").write_text("{")
    with pytest.raises(ModelError, match=r"params\.json cannot be read"):
        resolve(str(folder))


def test_the_demo_model_and_gguf_files_are_not_mistrals(tmp_path):
    file = tmp_path / "a.gguf"
    file.touch()

    for model in (None, str(file)):
        with pytest.raises(ModelError, match="Mistral's own format is that of a directory"):
            resolve(model, layout="mistral")
