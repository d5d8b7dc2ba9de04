"""What a model is asked when it is loaded, and which models are refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    DeepseekV3Config,
    DiffLlamaConfig,
    ErnieConfig,
    Gemma2Config,
    GptOssConfig,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    MptConfig,
    Phi3Config,
    PhimoeConfig,
    StableLmConfig,
)

from toolglot.engine.model import Model
from toolglot.engine.shapes import LayerShape, Scoring
from toolglot.errors import ModelError

CPU = torch.device("cpu")
MLA = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
MOE = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "moe_intermediate_size": 16}


def copy(path: Path, target: Path) -> Path:
    return Path(shutil.copytree(path, target, dirs_exist_ok=True))


def test_the_model_tells_its_shape(checkpoint):
    model = Model(checkpoint, device=CPU)

    assert model.vocab_size == 96
    assert model.layers == [LayerShape(4, 2, 8, 8, Scoring(8**-0.5))] * 2


def test_layers_differ_as_the_model_says(save, shape):
    sliding = {"head_dim": 8, "sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]}
    model = Model(save(Gemma2Config(**shape | sliding)), device=CPU)
    latent = Model(save(DeepseekV3Config(**shape | MLA | MOE | {"num_key_value_heads": 4})), device=CPU)

    assert [layer.scoring.window for layer in model.layers] == [16, None]
    assert {layer.scoring.softcap for layer in model.layers} == {50.0}
    assert {(layer.key_heads, layer.key_size, layer.value_size) for layer in latent.layers} == {(4, 16, 8)}


def test_stop_ids_are_those_of_both_configs(checkpoint, tmp_path):
    path = copy(checkpoint, tmp_path)
    for name, ids in (("config.json", 3), ("generation_config.json", [4, 5])):
        content = json.loads((path / name).read_text())
        (path / name).write_text(json.dumps(content | {"eos_token_id": ids}))

    assert Model(path, device=CPU).stop_ids == {3, 4, 5}


def test_a_config_may_name_no_end(checkpoint):
    model = Model(checkpoint, device=CPU)
    model._network.config = object()  # Fuyu's has no such field

    assert model.stop_ids == frozenset()


def test_the_width_of_the_logits_may_differ_from_the_tokenizers_length(save, shape):
    assert Model(save(LlamaConfig(**shape | {"vocab_size": 128})), device=CPU).vocab_size == 128


@pytest.mark.parametrize(
    ("config", "settings", "limit"),
    [
        (MistralConfig, {"sliding_window": 64}, 256),
        (PhimoeConfig, {"sliding_window": 64, "num_local_experts": 4}, 64),
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


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (GptOssConfig, {"head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2}, "needs attention sinks"),
        (ErnieConfig, {}, "layer 0 sees tokens that come later"),
        (DiffLlamaConfig, {}, "layer 0 attends more than once"),
        (StableLmConfig, {}, "its attention layers are not given what the model is called with"),
        (MptConfig, {"d_model": 32, "n_heads": 4, "n_layers": 2}, "cannot run a model of type 'mpt'"),
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
