from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

from toolglot.engine.protocol import SamplingParams
from toolglot.engine.sampler import sample

PROBABILITIES = [0.05, 0.4, 0.25, 0.2, 0.1]
LOGITS = torch.tensor(PROBABILITIES).log()


def drawn(logits: torch.Tensor = LOGITS, count: int = 400, **settings: Any) -> Counter[int]:
    generator = torch.Generator().manual_seed(0)
    return Counter(sample(logits, SamplingParams(max_tokens=1, **settings), generator) for _ in range(count))


@pytest.mark.parametrize("temperature", [0, 1e-30])
def test_temperature_zero_takes_the_most_probable_token(temperature):
    assert set(drawn(temperature=temperature, count=20)) == {1}


def test_plain_sampling_follows_the_probabilities():
    counts = drawn(count=4000)

    for token, probability in enumerate(PROBABILITIES):
        assert counts[token] / 4000 == pytest.approx(probability, abs=0.03)


def test_temperature_sharpens_and_flattens():
    assert drawn(temperature=0.3)[1] > drawn()[1] > drawn(temperature=5)[1]


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"top_k": 2}, {1, 2}),
        ({"top_k": 99}, {0, 1, 2, 3, 4}),
        ({"top_p": 0.6}, {1, 2}),  # the token that reaches the mass is kept
        ({"top_p": 0.0}, {1}),
        ({"min_p": 0.45}, {1, 2, 3}),  # at least 0.45 times the most probable one
        ({"min_p": 1.0}, {1}),
        ({"top_k": 3, "top_p": 0.6, "min_p": 0.1}, {1, 2}),
        ({"top_k": 2, "top_p": 0.9, "min_p": 0.45}, {1, 2}),
        # Temperature comes first: it makes the second token improbable enough for min_p to drop it.
        ({"min_p": 0.45, "temperature": 0.5}, {1}),
    ],
)
def test_filters_keep_the_right_tokens(settings, kept):
    assert set(drawn(**settings)) == kept


@pytest.mark.parametrize("settings", [{"temperature": 0}, {}, {"top_p": 0.99}, {"top_k": 4}])
def test_a_forbidden_token_is_never_taken(settings):
    masked = LOGITS.clone()
    masked[[1, 2]] = -torch.inf

    assert set(drawn(masked, **settings)) <= {0, 3, 4}


def test_a_row_that_forbids_everything_is_an_error():
    with pytest.raises(RuntimeError):
        drawn(torch.full((5,), -torch.inf), count=1)


def test_the_generator_decides():
    rows = [
        [sample(LOGITS, SamplingParams(max_tokens=1), generator) for _ in range(30)]
        for generator in (torch.Generator().manual_seed(seed) for seed in (1, 1, 2))
    ]

    assert rows[0] == rows[1] != rows[2]
