"""What is kept of what was compiled."""

from dataclasses import dataclass

import pytest

from toolglot.errors import GrammarError
from toolglot.grammar.cache import Cache


@dataclass
class Tag:
    size: int


def test_tags_that_were_not_used_for_longest_make_room():
    cache = Cache(100, 30)
    first, second, third = Tag(40), Tag(40), Tag(40)
    cache.put(b"1", first)
    cache.put(b"2", second)
    assert cache.get(b"1") is first

    cache.put(b"3", third)

    assert cache.get(b"2") is None
    assert (cache.get(b"1"), cache.get(b"3"), cache.size) == (first, third, 80)


def test_a_tag_that_grew_counts_with_its_size_now():
    cache = Cache(100, 30)
    first, second = Tag(10), Tag(10)
    cache.put(b"1", first)
    cache.put(b"2", second)
    second.size = 95

    assert cache.get(b"2") is second
    assert (cache.get(b"1"), cache.size) == (None, 95)


def test_a_tag_that_is_larger_than_all_is_not_kept():
    cache = Cache(100, 30)
    cache.put(b"1", Tag(101))

    assert (cache.get(b"1"), cache.size) == (None, 0)


def test_a_tag_takes_the_place_of_another_with_its_key():
    cache = Cache(100, 30)
    cache.put(b"1", Tag(60))
    cache.put(b"1", larger := Tag(70))

    assert (cache.get(b"1"), cache.size) == (larger, 70)


def test_refusals_are_kept_for_a_while():
    now = 0.0
    cache = Cache(100, 30, clock=lambda: now)
    cache.refuse(b"1", GrammarError("too slow", param="tools"))

    with pytest.raises(GrammarError, match="too slow") as refused:
        cache.get(b"1")
    assert refused.value.param == "tools"
    now = 31.0
    assert cache.get(b"1") is None


def test_the_number_of_refusals_is_bounded():
    cache = Cache(100, 30)
    for number in range(2000):
        cache.refuse(b"%d" % number, GrammarError("too slow"))

    assert cache.get(b"0") is None
    with pytest.raises(GrammarError):
        cache.get(b"1999")
