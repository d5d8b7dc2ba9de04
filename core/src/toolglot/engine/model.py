"""The network: transformers' weights and modelling code, run with our attention."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Seq
from pathlib import Path
from typing import Any, Final

import torch

from toolglot.checkpoints.progress import progress, quiet_transformers
from toolglot.engine import attention, int8
from toolglot.engine.shapes import LayerShape
from toolglot.errors import ModelError

_DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.float32}
"""What is computed with, by the type of the weights."""

_LOADED_AS: Final = {"int8": "auto"}
"""Weights that become int8 are loaded in the checkpoint's type: in float32 they would take the most memory."""

_SLOW_LOAD: Final = 2.0
"""Seconds after which loading shows a bar."""

_LAYER_TYPES: Final = frozenset({"full_attention", "sliding_attention", "chunked_attention"})

_LACKING: Final = {
    "s_aux": "attention sinks",
    "position_bias": "a position bias",
    "attention_mask": "an attention mask of its own",
}
"""What an attention layer may ask for and this engine does not have, by the argument's name in transformers."""


class Model:
    """A causal language model with its weights on ``device``, of type ``float32``, ``bfloat16`` or ``int8``.

    Raises:
        ModelError: the checkpoint does not load, or the model needs what the engine lacks; the message says what.
    """

    def __init__(self, path: Path, *, dtype: str = "float32", device: torch.device) -> None:
        self.device = device
        self.dtype = _DTYPES[dtype]
        """What is computed with, and what keys and values are kept as."""
        self._network = _load(path, _LOADED_AS.get(dtype, dtype)).to(device).eval()
        self.weights = {dtype: self._count()}
        """How many there are of each type: with int8, those that are not in linear layers stay float32."""
        self.config = self._network.config.get_text_config()
        probe = _Probe()
        self.vocab_size = self._probe(probe).shape[-1]
        """The width of the logits."""
        self.layers = probe.layers(self.config)
        """The shape of each attention layer."""
        self.like = torch.empty(0, dtype=self.dtype, device=device)
        """An empty tensor of the model's dtype, on its device."""
        self.limits = _limits(self.config, self.layers)
        """What bounds the length of a sequence, in tokens, by reason; None is no bound."""
        if dtype == "int8":
            self.quantise()

    @property
    def stop_ids(self) -> frozenset[int]:
        """Every id that the generation config and the model config name as an end of sequence."""
        generation = self._network.generation_config
        named = (getattr(config, "eos_token_id", None) for config in (generation, self._network.config, self.config))
        return frozenset(number for value in named for number in _ids(value))

    def quantise(self) -> None:
        """Make the weights of linear layers int8, and the others float32.

        Raises:
            ModelError: they cannot be on this machine or in this model; it is of no use then.
        """
        together = int8.sharing(self._network, lambda: self._probe(_Probe()))
        with progress("Quantising", delay=_SLOW_LOAD, lines=False) as report:
            quantised = int8.quantise(self._network, report, together)
        self._network.float()
        self.weights = {"int8": quantised, "float32": self._count()}
        self._probe(_Probe())

    @torch.inference_mode()
    def forward(self, step: attention.BatchStep) -> torch.Tensor:
        """The logits after the tokens ``batch.last`` [tokens, vocab_size], float32."""
        batch = step.batch
        return self._run(step, batch.token_ids, batch.positions, batch.last).float()

    def _count(self) -> int:
        return sum(weights.numel() for weights in self._network.parameters())

    def _probe(self, probe: _Probe) -> torch.Tensor:
        try:
            return self._run(probe, torch.zeros(2, dtype=torch.int64, device=self.device))
        except (
            TypeError,
            ValueError,
            RuntimeError,
            AttributeError,
        ) as error:  # the modelling code was not written for this
            raise ModelError(f"this engine cannot run a model of type {self.config.model_type!r}: {error}") from error

    @torch.inference_mode()
    def _run(
        self,
        step: attention.Step,
        token_ids: torch.Tensor,
        positions: torch.Tensor | None = None,
        rows: torch.Tensor | int = 1,
    ) -> torch.Tensor:
        places = torch.arange(len(token_ids), device=self.device) if positions is None else positions
        # Else torch asks each argument, int8 weights too, whether it overrides functions, which takes a tenth of a
        # pass of one token.
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  # torch's guide to extending it names this one
            output = self._network(
                input_ids=token_ids[None], position_ids=places[None], use_cache=False, logits_to_keep=rows, step=step
            )
        logits: torch.Tensor = output.logits[0]
        return logits


class _Probe:
    """Stands in for attention in a first small pass, and notes what the layers need."""

    def __init__(self) -> None:
        self._layers: dict[int, LayerShape] = {}

    def attend(self, layer: attention.Layer) -> torch.Tensor:
        for name, meaning in _LACKING.items():
            if layer.asked.get(name) is not None:
                raise ModelError(f"this engine cannot run the model: layer {layer.index} needs {meaning}")
        if not layer.causal:
            raise ModelError(f"this engine cannot run the model: layer {layer.index} sees tokens that come later")
        if layer.index in self._layers:  # the cache has one place for its keys and values
            raise ModelError(f"this engine cannot run the model: layer {layer.index} attends more than once")
        (tokens, query_heads, key_size), (_, key_heads, value_size) = layer.query.shape, layer.value.shape
        self._layers[layer.index] = LayerShape(query_heads, key_heads, key_size, value_size, layer.scoring)
        return layer.query.new_zeros(tokens, query_heads, value_size)

    def layers(self, config: Any) -> list[LayerShape]:
        if odd := set(getattr(config, "layer_types", None) or ()) - _LAYER_TYPES:
            raise ModelError(f"this engine cannot run a model with layers of type {', '.join(sorted(odd))}")
        if sorted(self._layers) != list(range(config.num_hidden_layers)):
            raise ModelError(
                f"this engine cannot run a model of type {config.model_type!r}: only {len(self._layers)} of its "
                f"{config.num_hidden_layers} layers are attention that transformers lets us replace"
            )
        return [self._layers[layer] for layer in range(config.num_hidden_layers)]


def _load(path: Path, dtype: str) -> Any:
    from transformers import AutoModelForCausalLM

    with progress(f"Loading {path.name}", delay=_SLOW_LOAD, lines=False) as report, quiet_transformers(report):
        try:
            network, loading = AutoModelForCausalLM.from_pretrained(
                path, dtype=dtype, attn_implementation=attention.NAME, output_loading_info=True,
                local_files_only=True, trust_remote_code=False,
            )  # fmt: skip
        except Exception as error:  # transformers raises whatever a broken or unknown checkpoint makes it
            raise ModelError(f"the model in {path} does not load: {error}") from error
    if missing := sorted(loading["missing_keys"]):
        raise ModelError(f"the checkpoint in {path} lacks weights: {', '.join(missing[:3])} ({len(missing)} in all)")
    return network


def _limits(config: Any, layers: Seq[LayerShape]) -> dict[str, int | None]:
    scaling: dict[str, Any] = getattr(config, "rope_parameters", None) or {}
    longest: Any = getattr(config, "max_position_embeddings", None)
    # These change the rotation of a whole batch when one of its sequences is long.
    rescaled = [
        rope.get("original_max_position_embeddings", longest)
        for rope in (scaling, *scaling.values())
        if isinstance(rope, dict) and rope.get("rope_type") in ("dynamic", "longrope")
    ]
    return {
        "its config's max_position_embeddings": longest,
        "its sliding window, which its attention layers do not ask for": _untold_window(config, layers),
        "its rope scaling, which this engine does not have yet": min(rescaled, default=None),
        "its chunked attention, which this engine does not have yet": getattr(config, "attention_chunk_size", None),
    }


def _untold_window(config: Any, layers: Seq[LayerShape]) -> int | None:
    """The window of a model that leaves it to transformers' masks and cache, of which there are none here."""
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * len(layers)
    windows = [layer.scoring.window for kind, layer in zip(kinds, layers, strict=False) if kind == "sliding_attention"]
    return None if all(windows) else getattr(config, "sliding_window", None)


def _ids(value: int | Iterable[int] | None) -> Iterable[int]:
    if value is None:
        return ()
    return (value,) if isinstance(value, int) else value
