"""Linear layers with weights of eight bits, for CPUs."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, Final

import torch
from torch import nn

from toolglot.checkpoints.progress import Report
from toolglot.errors import ModelError

_WEIGHT_STEPS: Final = 127
_TINY: Final = torch.finfo(torch.float32).tiny * 128
"""In the place of a scale of zero."""


class Int8Linear(nn.Module):
    """What ``linear`` computes, but for the rounding of its weights, which have a scale for each output channel.

    Inputs are cut at run time, with a scale for each row, into twice eight bits: a number of steps, and what is left of
    it in finer ones. The kernel takes both as rows of one batch, so that it reads the weights once. With eight bits
    alone prompts would be read nearly twice as fast, but a small model chose another token at one place in ten.

    A row's result depends on that row alone, so it is the same in any batch. The weights are a copy: those of
    ``linear`` may be an embedding's too.

    Raises:
        ModelError: torch has no kernel for it on this machine.
    """

    def __init__(self, linear: nn.Linear, *, steps: int | None = None) -> None:
        super().__init__()
        self._steps = steps or input_steps()
        self._weight = _packed(linear.weight.detach().float())
        self.bias: nn.Parameter | None = linear.bias

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """From [..., inputs] to [..., outputs], both float32."""
        scale = rows.abs().amax(-1, keepdim=True).clamp_min_(_TINY).div_(self._steps)
        scaled = rows / scale
        coarse = scaled.round()
        finer = 2 * self._steps  # what rounding left is half a step at most
        both = torch.stack((coarse, scaled.sub_(coarse).mul_(finer)))
        result, left = _linear(both, 1.0, self._steps + 1, self._weight)
        result.add_(left, alpha=1 / finer)
        return result.mul_(scale) if self.bias is None else torch.addcmul(self.bias, result, scale)


def quantise(network: nn.Module, report: Report) -> int:
    """Put an :class:`Int8Linear` in the place of each ``nn.Linear``, one after the other, and return how many weights
    that were. What is none (embeddings, norms, experts that are one tensor) stays as it is.

    Raises:
        ModelError: torch has no kernel for it on this machine.
    """
    places = [
        (parent, name, child)
        for parent in network.modules()
        for name, child in parent.named_children()
        if type(child) is nn.Linear
    ]
    total, done = sum(linear.weight.numel() for _, _, linear in places), 0
    while places:  # each layer's own weights are free before the next is taken
        parent, name, linear = places.pop()
        setattr(parent, name, Int8Linear(linear))
        report(done := done + linear.weight.numel(), total)
    return total


@cache
def input_steps() -> int:
    """How many steps the kernel takes on either side of zero: 127, or 63 where it adds pairs of products in 16 bits,
    which then overflow (CPUs without VNNI).

    Raises:
        ModelError: torch has no kernel on this machine.
    """
    ones = nn.Linear(64, 1, bias=False)
    nn.init.ones_(ones.weight)
    try:
        result = Int8Linear(ones, steps=127)(torch.ones(1, 64))
    except (AttributeError, RuntimeError) as error:  # a torch that has dropped quantized tensors
        raise ModelError(f"torch {torch.__version__} does not run int8 weights here: {error}") from error
    return 127 if abs(float(result) - 64) < 1 else 63


def _linear(rows: torch.Tensor, scale: float, zero: int, packed: Any) -> torch.Tensor:
    kernel = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default
    result: torch.Tensor = kernel(rows, scale, zero, packed)
    return result


def _packed(weight: torch.Tensor) -> Any:
    """``weight`` [outputs, inputs] in FBGEMM's order.

    Raises:
        ModelError: torch comes without FBGEMM.
    """
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        raise ModelError("int8 weights need FBGEMM, which torch has on x86 only; use --dtype float32")
    largest = torch.maximum(weight.amax(1), -weight.amin(1))  # of a large head, abs() would need the memory once more
    scales = (largest / _WEIGHT_STEPS).clamp_min_(_TINY)
    zeros = torch.zeros(len(scales), dtype=torch.int64)
    with warnings.catch_warnings():
        # torch means to drop quantized tensors. Nothing else leads to FBGEMM, and what takes plain int8 tensors is
        # slower than float32 at one request where the CPU has no VNNI.
        warnings.filterwarnings("ignore", "torch.quantize_per_tensor", UserWarning)
        quantised = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
    return torch.ops.quantized.linear_prepack(quantised, None)
