"""What a model is asked when it is loaded, and which models are refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import DeepseekV3Config, Gemma2Config, LlamaConfig, MambaConfig, MistralConfig, Phi3Config

from toolglot.engine.model import Model
from toolglot.errors import ModelError

CPU = torch.device("cpu")


def copy(path: Path, target: Path) -> Path:
    return Path(shutil.copytree(path, target, dirs_exist_ok=True))


def test_the_model_tells_its_shape(checkpoint):
    model = Model(checkpoint, device=CPU)

    assert model.vocab_size == 96
    assert model.heads == [(2, 8), (2, 8)]
    assert (model.shape.query_heads, model.shape.key_heads, model.shape.size) == (4, 2, 8)


def test_stop_ids_are_those_of_both_configs(checkpoint, tmp_path):
    path = copy(checkpoint, tmp_path)
    for name, ids in (("config.json", 3), ("generation_config.json", [4, 5])):
        content = json.loads((path / name).read_text())
        (path / name).write_text(json.dumps(content | {"eos_token_id": ids}))

    assert Model(path, device=CPU).stop_ids == {3, 4, 5}


def test_the_width_of_the_logits_may_differ_from_the_tokenizers_length(save, shape):
    assert Model(save(LlamaConfig(**shape | {"vocab_size": 128})), device=CPU).vocab_size == 128


@pytest.mark.parametrize(
    ("config", "settings", "limit"),
    [
        (MistralConfig, {"sliding_window": 64}, 64),
        (MistralConfig, {"sliding_window": None}, 256),
        (
            Phi3Config,
            {
                "original_max_position_embeddings": 128,
                "rope_parameters": {
                    "rope_type": "longrope",
                    "rope_theta": 1e4,
                    "short_factor": [1.0] * 4,
                    "long_factor": [2.0] * 4,
                    "original_max_position_embeddings": 128,
                },
            },
            128,
        ),
    ],
)
def test_what_the_engine_lacks_bounds_the_length(save, shape, config, settings, limit):
    model = Model(save(config(**shape, **settings)), device=CPU)

    assert min(length for length in model.limits.values() if length is not None) == limit


MLA = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
MOE = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "moe_intermediate_size": 16}


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (Gemma2Config, {"head_dim": 8, "attn_logit_softcapping": 50.0}, "needs soft-capped attention scores"),
        (DeepseekV3Config, {**MLA, **MOE, "num_key_value_heads": 4}, r"\(MLA\)"),
        (MambaConfig, {}, "layers of type linear_attention"),
    ],
)
def test_models_that_need_what_the_engine_lacks_are_refused(save, shape, config, settings, message):
    path = save(config(**shape | settings))

    with pytest.raises(ModelError, match=message):
        Model(path, device=CPU)


def test_a_checkpoint_that_lacks_weights_is_refused(checkpoint, tmp_path):
    path = copy(checkpoint, tmp_path)
    weights = load_file(path / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})

    with pytest.raises(ModelError, match=r"lacks weights: model\.layers\.1\.mlp\.up_proj\.weight \(1 in all\)"):
        Model(path, device=CPU)


def test_a_directory_without_a_model_is_refused(tmp_path):
    with pytest.raises(ModelError, match="does not load"):
        Model(tmp_path, device=CPU)
