"""Cutting text, or tokens, into portions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

S = TypeVar("S", bound=Sequence[Any])


def portions(whole: S, sizes: int | Sequence[int]) -> Iterator[S]:
    """Portions of these sizes, each at least 1; of several, the last holds for the rest. Nothing has no portions."""
    listed = [sizes] if isinstance(sizes, int) else sizes
    at = number = 0
    while at < len(whole):
        size = listed[min(number, len(listed) - 1)]
        yield whole[at : at + size]  # type: ignore[misc]  # a slice of text is text, and that of a list a list
        at, number = at + size, number + 1
