"""Penalties, biases and a least length, on small rows."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from toolglot.engine.logits import LogitsProcessor
from toolglot.engine.protocol import SamplingParams
from toolglot.engine.sampler import token_logprobs

SIZE = 8
TOKENS = st.lists(st.integers(0, SIZE - 1), max_size=12)
ROWS = st.lists(st.floats(-20, 20, width=32) | st.just(-math.inf), min_size=SIZE, max_size=SIZE).filter(
    lambda row: max(row) > -math.inf
)
SAMPLINGS = st.builds(
    SamplingParams,
    max_tokens=st.just(50),
    presence_penalty=st.floats(-2, 2),
    frequency_penalty=st.floats(-2, 2),
    repetition_penalty=st.floats(0.5, 2),
    logit_bias=st.dictionaries(st.integers(0, SIZE - 1), st.floats(-100, 100), max_size=3),
    min_tokens=st.integers(0, 5),
)


def processor(sampling, prompt=(), output=(), stops=(0,)):
    made = LogitsProcessor(sampling, prompt, stops, SIZE, torch.device("cpu"))
    for token in output:
        made.accept(token)
    return made


def settings(**fields):
    return SamplingParams(max_tokens=50, **fields)


def expected(sampling, prompt, output, row):
    """The same by the definitions of OpenAI and of the repetition penalty's paper, a token at a time."""
    changed = []
    for token, old in enumerate(row):
        logit = old + sampling.logit_bias.get(token, 0)
        if token in prompt or token in output:
            logit = logit / sampling.repetition_penalty if logit > 0 else logit * sampling.repetition_penalty
        logit -= sampling.frequency_penalty * output.count(token) + sampling.presence_penalty * (token in output)
        changed.append(logit)
    without_stop = [-math.inf, *changed[1:]]
    return without_stop if len(output) < sampling.min_tokens and max(without_stop) > -math.inf else changed


@given(SAMPLINGS, TOKENS, TOKENS, ROWS)
def test_it_is_what_the_definitions_say(sampling, prompt, output, row):
    logits = torch.tensor(row)
    changed = processor(sampling, prompt, output)(logits)
    assert changed.tolist() == pytest.approx(expected(sampling, prompt, output, row), rel=1e-4, abs=1e-3)
    assert logits.tolist() == row  # what probabilities are told of stays


@given(SAMPLINGS, TOKENS, ROWS)
def test_what_is_forbidden_stays_so_and_something_is_allowed(sampling, output, row):
    changed = processor(sampling, output=output)(torch.tensor(row))
    assert all(math.isinf(new) for old, new in zip(row, changed.tolist(), strict=True) if math.isinf(old))
    assert changed.max() > -math.inf
    assert not changed.isnan().any()


def test_no_stop_token_before_the_least_length():
    held = processor(settings(min_tokens=2), stops=(0, 3))
    row = torch.zeros(SIZE)
    for _ in range(2):
        assert held(row).isneginf().nonzero().flatten().tolist() == [0, 3]
        held.accept(5)
    assert not held(row).isneginf().any()


def test_a_grammar_that_admits_only_the_end_wins_over_the_least_length():
    row = torch.full((SIZE,), -torch.inf)
    row[0] = 1
    assert processor(settings(min_tokens=9))(row).argmax() == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"presence_penalty": 0.1},
        {"frequency_penalty": -0.1},
        {"repetition_penalty": 1.1},
        {"logit_bias": {1: 1}},
        {"min_tokens": 1},
    ],
)
def test_only_requests_that_change_logits_pay_for_it(fields):
    assert LogitsProcessor.wanted(settings(**fields))
    assert not LogitsProcessor.wanted(settings(temperature=0, top_k=3, logprobs=5, stop_token_ids=frozenset({1})))


@given(ROWS, st.integers(0, SIZE + 2))
def test_probabilities_are_those_of_the_row(row, count):
    logits = torch.tensor(row)
    token = int(logits.argmax())
    told = token_logprobs(logits, token, count)
    probabilities = torch.softmax(logits.double(), -1)
    assert math.exp(told.logprob) == pytest.approx(probabilities[token].item(), rel=1e-4)
    allowed = int((logits > -math.inf).sum())
    assert len(told.top) == min(count, allowed)
    values = [logprob for _, logprob in told.top]
    assert values == sorted(values, reverse=True)
    for other, logprob in told.top:
        assert math.exp(logprob) == pytest.approx(probabilities[other].item(), rel=1e-4, abs=1e-9)
