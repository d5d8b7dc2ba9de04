"""Checkpoints in Mistral's own layout (``params.json``, ``consolidated.safetensors``), converted once."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolglot.checkpoints.cache import cache_dir, fingerprint, make_once
from toolglot.checkpoints.progress import Report, progress
from toolglot.errors import ModelError

if TYPE_CHECKING:
    import torch
    from transformers import MistralConfig

PARAMS: Final = "params.json"
WEIGHTS: Final = "consolidated*.safetensors"

_REVISION: Final = 1
"""Part of the cache's key: raised when this conversion changes what it writes."""

_NEEDED: Final = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "hidden_dim": "intermediate_size",
    "n_heads": "num_attention_heads",
    "vocab_size": "vocab_size",
    "norm_eps": "rms_norm_eps",
}
_OPTIONAL: Final = {
    "n_kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "sliding_window": "sliding_window",
    "max_position_embeddings": "max_position_embeddings",
    "max_seq_len": "max_position_embeddings",
    "tied_embeddings": "tie_word_embeddings",
}
"""Parameters by their names in transformers' config."""

_ROPE: Final = "rope_theta"
_ROPE_DEFAULT: Final = 10_000.0
_USUAL: Final[Mapping[str, Any]] = {
    "model_type": "transformer",
    "activation": "silu",
    "causal": True,
    "use_biases": False,
}
"""Parameters with the one value that a dense model has."""

_LAYER: Final = re.compile(r"layers\.(\d+)\.(.+)\.weight")
_IN_LAYER: Final = {
    "attention.wq": "self_attn.q_proj",
    "attention.wk": "self_attn.k_proj",
    "attention.wv": "self_attn.v_proj",
    "attention.wo": "self_attn.o_proj",
    "attention_norm": "input_layernorm",
    "feed_forward.w1": "mlp.gate_proj",
    "feed_forward.w2": "mlp.down_proj",
    "feed_forward.w3": "mlp.up_proj",
    "ffn_norm": "post_attention_layernorm",
}
_AROUND: Final = {
    "tok_embeddings.weight": "model.embed_tokens.weight",
    "norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_TOKENIZER: Final = ("tekken.json", "tokenizer*", "special_tokens_map.json", "*.jinja", PARAMS)
"""Files that are taken over."""


def converted(folder: Path, *, quiet: bool = False) -> Path:
    """Return the checkpoint directory that was made of ``folder``, converting it at the first use.

    Raises:
        ModelError: it holds no dense Mistral model in this layout; the message says what it has instead.
    """
    config = read_config(folder)

    def fill(made: Path) -> None:
        with progress(f"Converting {folder.name} (once)", quiet=quiet) as report:
            convert(folder, config, made, report)

    return make_once(cache_dir() / "mistral" / f"{fingerprint(folder)}-{_REVISION}", fill)


def read_config(folder: Path) -> MistralConfig:
    """What ``params.json`` says, as transformers' config. Raises ModelError."""
    from transformers import MistralConfig

    path = folder / PARAMS
    try:
        params: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
    said = {name: value for name, value in params.items() if value is not None}
    if missing := sorted(_NEEDED.keys() - said.keys()):
        raise ModelError(f"{path} lacks {', '.join(missing)}")
    odd = [name for name, value in said.items() if not _is_dense(name, value)]
    if odd:
        raise ModelError(
            f"{path} has {', '.join(odd)}: of Mistral's own format, only dense models of text are read; "
            "try the model in transformers' format"
        )
    fields = {ours: said[theirs] for theirs, ours in (_NEEDED | _OPTIONAL).items() if theirs in said}
    fields = {"num_key_value_heads": fields["num_attention_heads"], "sliding_window": None, **fields}
    rope = {"rope_type": "default", "rope_theta": said.get(_ROPE, _ROPE_DEFAULT)}
    return MistralConfig(architectures=["MistralForCausalLM"], rope_parameters=rope, **fields)


def convert(folder: Path, config: MistralConfig, target: Path, report: Report) -> None:
    """Write weights, config and tokenizer of ``folder`` into the directory ``target``. Raises ModelError."""
    from safetensors.torch import save_file

    weights = {}
    for name, tensor in _weights(folder):
        ours = renamed(name)
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(ours.split(".")[-2])
        weights[ours] = tensor if heads is None else halves_together(tensor, heads)
        report(len(weights), None)
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    config.dtype = weights["model.norm.weight"].dtype
    config.save_pretrained(target)
    for file in (file for pattern in _TOKENIZER for file in folder.glob(pattern)):
        shutil.copyfile(file, target / file.name)


def renamed(name: str) -> str:
    """The name of a weight in transformers. Raises ModelError."""
    if match := _LAYER.fullmatch(name):
        number, inner = match.groups()
        if inner in _IN_LAYER:
            return f"model.layers.{number}.{_IN_LAYER[inner]}.weight"
    if name not in _AROUND:
        raise ModelError(f"{name} is no weight of a dense Mistral model")
    return _AROUND[name]


def halves_together(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """The rows of each head in another order: Mistral's code rotates neighbours, transformers' the two halves of a
    head.
    """
    rows, columns = weight.shape
    return weight.view(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(rows, columns)


def _is_dense(name: str, value: Any) -> bool:
    if name in _USUAL:
        return bool(value == _USUAL[name])
    known = name in _NEEDED or name in _OPTIONAL or name == _ROPE
    return known and isinstance(value, int | float)  # a window for each layer is a list


def _weights(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    from safetensors import SafetensorError, safe_open

    files = sorted(folder.glob(WEIGHTS))
    if not files:
        raise ModelError(f"{folder} has no {WEIGHTS}; Mistral's older .pth files are not read")
    for path in files:
        try:
            with safe_open(path, "pt") as file:
                for name in file.keys():  # noqa: SIM118  # it is no dict
                    yield name, file.get_tensor(name)
        except SafetensorError as error:
            raise ModelError(f"{path} cannot be read: {error}") from error
