"""Which type a model's weights have, and why."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import torch

from toolglot.checkpoints.cache import cache_dir, fingerprint, make_once
from toolglot.checkpoints.progress import progress
from toolglot.engine import agreement, int8
from toolglot.engine.model import Model
from toolglot.errors import ModelError

Dtype: TypeAlias = Literal["auto", "float32", "bfloat16", "int8"]

_ENOUGH: Final = 0.95
"""Of the check prompts' tokens: where int8 chooses as many of them as float32 does, it is served."""


def load_model(path: Path, dtype: Dtype, device: torch.device, *, tokenizer: Any) -> tuple[Model, str]:
    """Return the model in ``path`` with weights of this type, and why it is this one.

    ``auto`` is bfloat16 on CUDA. On the CPU it is int8 for a checkpoint whose int8 weights choose nearly the same
    tokens as its float32 weights, else float32. They are compared once; the cache directory remembers the result.

    Raises:
        ModelError: the model does not load or cannot be run here, or not with these weights.
    """
    if dtype not in get_args(Dtype):
        raise ModelError(f"unknown dtype {dtype!r}; use {', '.join(get_args(Dtype)[:-1])} or int8")
    if dtype == "int8":
        _require_int8(device)
    if dtype != "auto":
        return Model(path, dtype=dtype, device=device), "as asked"
    if device.type == "cuda":
        return Model(path, dtype="bfloat16", device=device), "the default on CUDA"
    return _on_cpu(path, device, tokenizer)


def _require_int8(device: torch.device) -> None:
    if device.type != "cpu":
        raise ModelError("int8 weights are for CPUs; use --dtype bfloat16")
    int8.input_steps()


def _on_cpu(path: Path, device: torch.device, tokenizer: Any) -> tuple[Model, str]:
    try:
        steps = int8.input_steps()
    except ModelError as error:
        return Model(path, dtype="float32", device=device), str(error)
    key = f"{fingerprint(path)}-{torch.__version__}-{steps}-{agreement.REVISION}"
    known = cache_dir() / "int8" / key / "agreement"
    model = None
    if known.is_file():
        share = float(known.read_text())
    else:
        model, share = _compared(path, device, tokenizer)
        with suppress(OSError):  # where nothing can be kept, the next start compares again
            make_once(known.parent, lambda made: _write(made / known.name, share))
    reason = f"int8 and float32 choose the same token at {share:.1%} of the places compared; {_ENOUGH:.0%} are enough"
    if share >= _ENOUGH:
        return model or Model(path, dtype="int8", device=device), reason
    del model  # its memory is needed for the next one
    return Model(path, dtype="float32", device=device), reason


def _compared(path: Path, device: torch.device, tokenizer: Any) -> tuple[Model | None, float]:
    """The model with int8 weights, and at which share of the places they choose what its float32 weights did; None and
    0 where they do not run.
    """
    model = Model(path, dtype="float32", device=device)
    prompts = agreement.check_prompts(tokenizer)
    with progress("Comparing int8 with float32 weights (once)") as report:
        expected = agreement.choices(model, prompts, report)
        try:
            model.quantise()
        except ModelError:
            return None, 0.0
        chosen = agreement.choices(model, prompts, report, given=expected)
    pairs = [*zip(chain(*expected), chain(*chosen), strict=True)]
    return model, sum(one == other for one, other in pairs) / len(pairs)


def _write(file: Path, share: float) -> None:
    file.write_text(str(share))
