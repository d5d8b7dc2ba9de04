"""Linear layers with weights of eight bits."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from toolglot.engine import int8
from toolglot.engine.int8 import Int8Linear, input_steps, quantise, sharing
from toolglot.errors import ModelError


@pytest.fixture
def linear() -> nn.Linear:
    torch.manual_seed(3)
    return nn.Linear(96, 40).requires_grad_(False)


@pytest.fixture(params=[63, 127], ids="{} steps".format)
def steps(request: pytest.FixtureRequest) -> int:
    """As on CPUs without VNNI and with it."""
    if request.param > input_steps():
        pytest.skip("this CPU has no VNNI")
    return request.param


def rounded(linear: nn.Linear) -> torch.Tensor:
    """The weights that are as near as eight bits allow."""
    scales = linear.weight.abs().amax(1, keepdim=True) / 127
    return (linear.weight / scales).round() * scales


def test_only_weights_are_rounded_noticeably(linear, steps):
    rows = torch.randn(1, 7, 96) * torch.tensor([1.0, 1e-6, 1e6, 1.0, 0.1, 3.0, 1.0])[:, None]

    result = Int8Linear(linear, steps=steps)(rows)

    expected = rows @ rounded(linear).T + linear.bias
    assert result.shape == (1, 7, 40)
    assert ((result - expected).norm(dim=-1) / expected.norm(dim=-1)).max() < 3e-4


def test_a_row_is_computed_the_same_in_any_batch(linear):
    rows = torch.randn(1, 300, 96) * torch.rand(300)[:, None]
    layer = Int8Linear(linear)

    together = layer(rows)

    assert all(torch.equal(layer(rows[:, at : at + 1])[0, 0], together[0, at]) for at in range(0, 300, 17))


def test_an_outlier_does_not_hide_what_is_small(linear):
    row = torch.full((1, 96), 0.01)
    row[0, 0] = 100
    linear.weight[:, 0] = 0

    result = Int8Linear(linear)(row)

    expected = row @ rounded(linear).T + linear.bias
    assert (result - expected).abs().max() < 0.02


def test_largest_products_do_not_overflow(steps):
    layer = nn.Linear(4096, 8, bias=False)
    nn.init.constant_(layer.weight, -2.0)

    assert torch.allclose(Int8Linear(layer, steps=steps)(torch.full((3, 4096), 5.0)), torch.tensor(-2.0 * 5 * 4096))


def test_rows_and_weights_of_zeros_give_the_bias(linear):
    empty = nn.Linear(96, 40).requires_grad_(False)
    nn.init.zeros_(empty.weight)

    assert torch.equal(Int8Linear(linear)(torch.zeros(2, 96)), linear.bias.expand(2, -1))
    assert torch.equal(Int8Linear(empty)(torch.ones(2, 96)), empty.bias.expand(2, -1))


def test_a_result_that_is_no_number_stays_one(linear):
    assert Int8Linear(linear)(torch.tensor([[torch.nan] * 96])).isnan().all()


def test_every_linear_layer_is_replaced_and_an_embedding_with_the_same_weights_is_not():
    network = nn.ModuleDict({"embedding": nn.Embedding(6, 4), "block": nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 4))})
    network["head"] = nn.Linear(4, 6, bias=False)
    network["head"].weight = network["embedding"].weight
    before = network["embedding"].weight.clone()
    reports = []

    count = quantise(network, lambda done, total: reports.append((done, total)))

    assert [type(each) for each in (network["head"], *network["block"])] == [Int8Linear] * 3
    assert torch.equal(network["embedding"].weight, before)
    assert count == 4 * 8 * 2 + 4 * 6
    assert reports == sorted(reports)
    assert reports[-1] == (count, count)


def test_layers_that_do_more_than_a_linear_one_stay():
    class Scaled(nn.Linear):
        def forward(self, rows):
            return super().forward(rows) * 2

    network = nn.Sequential(Scaled(4, 4))

    assert quantise(network, lambda done, total: None) == 0
    assert type(network[0]) is Scaled


def test_without_fbgemm_the_error_says_what_to_do(monkeypatch, linear):
    monkeypatch.setattr(type(torch.backends.quantized), "supported_engines", ["qnnpack"])

    with pytest.raises(ModelError, match="FBGEMM, which torch has on x86 only; use --dtype float32"):
        Int8Linear(linear, steps=127)


def test_a_torch_without_quantized_tensors_is_named(monkeypatch):
    monkeypatch.delattr(torch, "quantize_per_channel")

    with pytest.raises(ModelError, match=f"torch {re.escape(torch.__version__)} does not run int8 weights here"):
        input_steps.__wrapped__()


def test_how_finely_inputs_are_cut_is_found_out_by_trying(monkeypatch):
    def overflowing(rows, scale, zero, packed):
        return torch.full((2, 1, 1), 32767.0 * 32)

    monkeypatch.setattr(int8, "_linear", overflowing)

    assert input_steps.__wrapped__() == 63


class Siblings(nn.Module):
    """Three layers of one input, and one of another."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(96, 40), nn.Linear(96, 8, bias=False)
        self.third, self.last = nn.Linear(96, 24), nn.Linear(96, 5)

    def forward(self, rows):
        return [self.first(rows), self.second(rows), self.third(rows), self.last(rows * 2)]


@pytest.fixture
def siblings() -> Siblings:
    torch.manual_seed(4)
    return Siblings().requires_grad_(False)


@pytest.fixture
def kernel_calls(monkeypatch) -> list[int]:
    """How many rows each call of the kernel in this test had."""
    calls: list[int] = []
    run = int8._linear

    def noted(rows, *others):
        calls.append(rows.shape[-2])
        return run(rows, *others)

    monkeypatch.setattr(int8, "_linear", noted)
    return calls


def together(siblings: Siblings) -> Siblings:
    quantise(siblings, lambda done, total: None, sharing(siblings, lambda: siblings(torch.ones(2, 96))))
    return siblings


def test_layers_that_are_called_with_one_tensor_are_found(siblings):
    assert sharing(siblings, lambda: siblings(torch.ones(2, 96))) == [[siblings.first, siblings.second, siblings.third]]
    assert not any(module._forward_pre_hooks for module in siblings.modules())


def test_what_is_computed_together_is_what_each_computes_alone(siblings, kernel_calls):
    rows = torch.randn(1, 7, 96)
    alone = [Int8Linear(linear) for linear in (siblings.first, siblings.second, siblings.third)]
    expected = [layer(rows) for layer in alone]
    together(siblings)
    del kernel_calls[:]

    with torch.inference_mode():
        results = siblings(rows)

    assert all(torch.equal(*pair) for pair in zip(results, expected, strict=False))
    assert kernel_calls == [7, 7]


def test_a_result_is_never_that_of_another_input(siblings):
    def fresh(layer: nn.Module, rows: torch.Tensor) -> bool:
        return torch.equal(layer(rows), alone[layer](rows.clone()))

    before = [siblings.first, siblings.second, siblings.third]
    alone = [Int8Linear(linear) for linear in before]
    together(siblings)
    first, second, third = siblings.first, siblings.second, siblings.third
    alone = dict(zip((first, second, third), alone, strict=True))

    with torch.inference_mode():
        rows, other = torch.randn(2, 96), torch.randn(2, 96)
        assert fresh(first, rows)
        assert fresh(second, other)  # another tensor, before all have taken their part
        assert fresh(third, rows)
        rows[1, 5] += 1  # the same tensor with another content
        assert fresh(first, rows)
        assert fresh(first, rows)
        rows.mul_(3)
        assert fresh(second, rows)
        assert fresh(third, rows[:1])
        assert fresh(third, rows.mul_(2))


def test_a_part_can_be_changed_without_changing_the_others(siblings):
    rows = torch.randn(3, 96)
    expected = Int8Linear(siblings.third)(rows)
    together(siblings)

    with torch.inference_mode():
        siblings.first(rows).zero_()
        siblings.second(rows).zero_()

        assert torch.equal(siblings.third(rows), expected)


def test_a_layer_at_two_places_is_one(siblings):
    siblings.inner = nn.Sequential(siblings.first)
    total = sum(one.weight.numel() for one in (siblings.first, siblings.second, siblings.third, siblings.last))

    assert quantise(siblings, lambda done, total: None) == total
    assert siblings.inner[0] is siblings.first
    assert type(siblings.first) is Int8Linear
