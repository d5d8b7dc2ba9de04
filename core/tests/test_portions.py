"""Cutting into portions."""

import pytest

from toolglot.portions import portions


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [(2, ["ab", "cd", "e"]), ([1, 3], ["a", "bcd", "e"]), ([1, 2], ["a", "bc", "de"]), (9, ["abcde"])],
)
def test_the_last_size_holds_for_the_rest(sizes, wanted):
    assert list(portions("abcde", sizes)) == wanted


def test_nothing_has_none_and_tokens_stay_tokens():
    assert list(portions("", 1)) == []
    assert list(portions((1, 2, 3), [2])) == [(1, 2), (3,)]
