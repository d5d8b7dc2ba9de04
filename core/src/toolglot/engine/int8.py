"""Linear layers with weights of eight bits, for CPUs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from collections.abc import Sequence as Seq
from functools import cache
from itertools import chain
from typing import Any, Final

import torch
from torch import nn

from toolglot.checkpoints.progress import Report
from toolglot.errors import ModelError

_WEIGHT_STEPS: Final = 127
_TINY: Final = torch.tensor(torch.finfo(torch.float32).tiny * 128)
"""Added to scales, which then are never zero."""


class Int8Linear(nn.Module):
    """What ``linears`` compute of one input, side by side, but for the rounding of their weights, which have a scale
    for each output channel.

    Inputs are cut at run time, with a scale for each row, into twice eight bits: a number of steps, and what is left of
    it in finer ones. The kernel takes both as rows of one batch, so that it reads the weights once. With eight bits
    alone prompts would be read nearly twice as fast, but a small model chose another token at one place in ten.

    A row's result depends on that row alone, so it is the same in any batch. The weights are a copy: those of a
    linear layer may be an embedding's too.

    Raises:
        ModelError: torch has no kernel for it on this machine.
    """

    def __init__(self, *linears: nn.Linear, steps: int | None = None) -> None:
        super().__init__()
        self._steps = steps or input_steps()
        self._finer = 2 * self._steps  # what is left is half a step at most
        self._shares = torch.tensor([1, 1 / self._finer]) / self._steps
        self._weight = _packed(torch.cat([linear.weight.detach().float() for linear in linears]))
        self.bias = _biases(linears)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """From [..., inputs] to [..., outputs], both float32."""
        # A pass of one token is mostly such small operations as these: no more of them than it takes.
        shares = self._shares.view(2, *[1] * rows.dim())
        scales = torch.addcmul(_TINY, rows.abs().amax(-1, keepdim=True), shares)
        both = rows / scales
        coarse, fine = both.unbind()
        fine.sub_(coarse.round_(), alpha=self._finer)
        result, left = _linear(both, 1.0, self._steps + 1, self._weight).unbind()
        result.add_(left, alpha=1 / self._finer)
        return result.mul_(scales[0]) if self.bias is None else torch.addcmul(self.bias, result, scales[0])


class _Together:
    """Several linear layers that are called with one tensor, one after the other: the first computes all."""

    def __init__(self, linears: Seq[nn.Linear]) -> None:
        self._layer = Int8Linear(*linears)
        self._sizes = [linear.out_features for linear in linears]
        self._rows: torch.Tensor | None = None
        self._content = torch.empty(0)
        self._parts: dict[int, torch.Tensor] = {}

    def part(self, index: int, rows: torch.Tensor) -> torch.Tensor:
        """What the linear layer with this index makes of ``rows``. A part is given once, and only for the same tensor
        with the same content.
        """
        if rows is not self._rows or index not in self._parts or not torch.equal(rows, self._content):
            self._rows, self._content = rows, rows.clone()
            self._parts = dict(enumerate(self._layer.forward(rows).split_with_sizes(self._sizes, -1)))
        part = self._parts.pop(index)
        if not self._parts:
            self._rows = None
        return part


class _Part(nn.Module):
    """One of them, in its place."""

    def __init__(self, together: _Together, index: int, bias: nn.Parameter | None) -> None:
        super().__init__()
        self._together, self._index = together, index
        self.bias = bias

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self._together.part(self._index, rows)


def sharing(network: nn.Module, run: Callable[[], object]) -> list[list[nn.Linear]]:
    """The linear layers of ``network`` that take one and the same tensor, while it runs, as their first: in groups."""
    taken: dict[nn.Linear, torch.Tensor] = {}  # keeps the tensors, so that no two have one id

    def note(linear: nn.Linear, inputs: tuple[torch.Tensor, ...]) -> None:
        taken.setdefault(linear, inputs[0])

    hooks = [linear.register_forward_pre_hook(note) for linear in _linears(network)]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    groups: dict[int, list[nn.Linear]] = {}
    for linear, rows in taken.items():
        groups.setdefault(id(rows), []).append(linear)
    return [group for group in groups.values() if len(group) > 1]


def quantise(network: nn.Module, report: Report, together: Iterable[list[nn.Linear]] = ()) -> int:
    """Put int8 layers in the place of each ``nn.Linear``, one after the other, and return how many weights that were.
    What is none (embeddings, norms, experts that are one tensor) stays as it is. The groups in ``together``, which are
    emptied, are computed at once where they are called with one tensor.

    Raises:
        ModelError: torch has no kernel for it on this machine.
    """
    places: dict[nn.Linear, list[tuple[nn.Module, str]]] = {linear: [] for linear in _linears(network)}
    for parent in network.modules():
        for name, child in parent.named_children():
            if type(child) is nn.Linear:
                places[child].append((parent, name))
    groups = [*together]
    groups += [[linear] for linear in places.keys() - chain(*groups)]
    total, done = sum(linear.weight.numel() for linear in places), 0
    while groups:  # each group's own weights are free before the next is taken
        group = groups.pop()
        for linear, layer in zip(group, _layers(group), strict=True):
            for parent, name in places.pop(linear):
                setattr(parent, name, layer)
            done += linear.weight.numel()
        group.clear()
        report(done, total)
    return total


def _linears(network: nn.Module) -> list[nn.Linear]:
    return [module for module in network.modules() if type(module) is nn.Linear]


def _layers(linears: Seq[nn.Linear]) -> list[nn.Module]:
    if len(linears) == 1:
        return [Int8Linear(*linears)]
    together = _Together(linears)
    return [_Part(together, index, linear.bias) for index, linear in enumerate(linears)]


def _biases(linears: Seq[nn.Linear]) -> nn.Parameter | None:
    """The biases side by side, zeros where there is none, float32; None if there are none at all."""
    biases: list[nn.Parameter | None] = [linear.bias for linear in linears]
    if not any(bias is not None for bias in biases):
        return None
    zeros = (torch.zeros(linear.out_features) for linear in linears)
    filled = [zero if bias is None else bias.float() for zero, bias in zip(zeros, biases, strict=True)]
    return nn.Parameter(torch.cat(filled), requires_grad=False)


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
    # Without the checks that only torch.export needs: they take 2 % of a pass of one token.
    kernel = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default._op  # noqa: SLF001
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
    scales = largest / _WEIGHT_STEPS + _TINY
    zeros = torch.zeros(len(scales), dtype=torch.int64)
    with warnings.catch_warnings():
        # torch means to drop quantized tensors. Nothing else leads to FBGEMM, and what takes plain int8 tensors is
        # slower than float32 at one request where the CPU has no VNNI.
        warnings.filterwarnings("ignore", "torch.quantize_per_tensor", UserWarning)
        quantised = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
    return torch.ops.quantized.linear_prepack(quantised, None)
