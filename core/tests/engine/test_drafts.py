"""Guesses from the tokens so far, without tensors."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from toolglot.engine.drafts import History, PromptLookup

few = st.integers(1, 4)


def followed(tokens: Sequence[int], lookup: PromptLookup) -> Sequence[int]:
    """The same, by looking everywhere."""
    for length in range(min(lookup.longest, len(tokens)), lookup.shortest - 1, -1):
        for end in range(len(tokens) - 1, length - 1, -1):
            if tokens[end - length : end] == tokens[len(tokens) - length :]:
                return tokens[end : end + lookup.count]
    return ()


def test_the_longest_run_that_occurred_before_says_what_follows():
    history = History(PromptLookup(count=3, longest=2, shortest=1))

    assert history.following([1, 2, 3, 4, 5, 9, 2, 8, 1, 2]) == [3, 4, 5]
    assert history.following([1, 2, 3, 4, 5, 9, 2, 8, 1, 2, 9]) == [2, 8, 1]
    assert list(history.following([1, 2, 3, 4, 5, 9, 2, 8, 1, 2, 9, 6])) == []


def test_of_equal_runs_the_last_one_counts():
    assert History(PromptLookup(1, 2, 2)).following([1, 2, 3, 1, 2, 4, 1, 2]) == [4]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=40), st.data(), few, few, few)
def test_it_finds_what_looking_everywhere_finds(tokens, data, count, one, other):
    lookup = PromptLookup(count, max(one, other), min(one, other))
    history = History(lookup)
    for length in sorted(data.draw(st.sets(st.integers(1, len(tokens))))):
        assert list(history.following(tokens[:length])) == list(followed(tokens[:length], lookup))
