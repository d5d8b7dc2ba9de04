"""Sets of Unicode characters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

_LAST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)

Range = tuple[int, int]
"""The first and the last code point."""


@dataclass(frozen=True, slots=True)
class Charset:
    """A set of characters: sorted ranges of code points that neither touch nor overlap, without surrogates."""

    ranges: tuple[Range, ...] = ()

    @classmethod
    def of(cls, characters: Iterable[str]) -> Charset:
        """The set of these characters."""
        return cls.spanning((ord(one), ord(one)) for one in characters)

    @classmethod
    def spanning(cls, ranges: Iterable[Range]) -> Charset:
        """The set of all code points in these ranges, which may overlap; surrogates are left out."""
        merged: list[Range] = []
        for first, last in sorted(part for one in ranges for part in _characters(one)):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __len__(self) -> int:
        """The number of characters."""
        return sum(last - first + 1 for first, last in self.ranges)

    def __contains__(self, character: str) -> bool:
        point = ord(character)
        index = bisect_right(self.ranges, (point, _LAST)) - 1
        return index >= 0 and point <= self.ranges[index][1]

    def __or__(self, other: Charset) -> Charset:
        return Charset.spanning((*self.ranges, *other.ranges))

    def __and__(self, other: Charset) -> Charset:
        return Charset(tuple(_common(self.ranges, other.ranges)))

    def __invert__(self) -> Charset:
        starts = [0, *(last + 1 for _, last in self.ranges)]
        ends = [*(first - 1 for first, _ in self.ranges), _LAST]
        return Charset.spanning(zip(starts, ends, strict=True))

    def __sub__(self, other: Charset) -> Charset:
        return self & ~other

    def example(self) -> str:
        """One of the characters; one that is easy to read, if there is any."""
        legible = self & _LEGIBLE or self & _PRINTABLE or self
        return chr(legible.ranges[-1][0])


def _characters(span: Range) -> Iterator[Range]:
    first, last = span
    below, above = (first, min(last, _SURROGATES[0] - 1)), (max(first, _SURROGATES[1] + 1), last)
    return (part for part in (below, above) if part[0] <= part[1])


def _common(one: tuple[Range, ...], other: tuple[Range, ...]) -> Iterator[Range]:
    left = right = 0
    while left < len(one) and right < len(other):
        first, last = max(one[left][0], other[right][0]), min(one[left][1], other[right][1])
        if first <= last:
            yield (first, last)
        if one[left][1] < other[right][1]:
            left += 1
        else:
            right += 1


@lru_cache(1024)
def single(character: str) -> Charset:
    """The set of one character."""
    return Charset.of(character)


def union(sets: Iterable[Charset]) -> Charset:
    """All characters of the sets."""
    return Charset.spanning(span for one in sets for span in one.ranges)


def partition(sets: Iterable[Charset]) -> dict[Charset, int]:
    """The fewest classes of characters of which every one of the sets is made, with the sets that hold each: bit n is
    set where the n-th set does. Characters that are in none of the sets are left out.
    """
    edges = _edges(sets)
    classes: dict[int, list[Range]] = {}
    holders, start = 0, 0
    for point in sorted(edges):
        if holders and start < point:
            classes.setdefault(holders, []).append((start, point - 1))
        holders, start = holders ^ edges[point], point
    return {Charset.spanning(ranges): key for key, ranges in classes.items()}


def _edges(sets: Iterable[Charset]) -> dict[int, int]:
    edges: dict[int, int] = {}
    for number, one in enumerate(sets):
        for first, last in one.ranges:
            for point in (first, last + 1):
                edges[point] = edges.get(point, 0) ^ (1 << number)
    return edges


NOTHING = Charset()
EVERYTHING = ~NOTHING
_LEGIBLE = Charset.of("abcdefghijklmnopqrstuvwxyz")
_PRINTABLE = Charset(((0x20, 0x7E),))
