"""Sets of numbers: bounds, integers, multiples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from toolglot.schemas.losses import Losses
from toolglot.schemas.normal import Bound, Node, Number
from toolglot.schemas.unsettled import NOTHING
from toolglot.schemas.values import decimal

MAX_MULTIPLE = 1000
"""The largest divisor that a grammar of digits is made for."""


def made(*, integer: bool, least: Bound | None, most: Bound | None, multiple: int = 1) -> Node:
    """The numbers within the bounds; :data:`NOTHING` where there are none."""
    if integer:
        least = least and Bound(Decimal(_first(least, multiple)))
        most = most and Bound(Decimal(_last(most, multiple)))
    if least and most and (least.value > most.value or (least.value == most.value and _open(least, most))):
        return NOTHING
    return Number(integer, least, most, multiple)


def intersect(one: Number, other: Number, losses: Losses) -> Node:
    """The numbers in both."""
    multiple = math.lcm(one.multiple, other.multiple)
    if multiple > MAX_MULTIPLE:
        losses.grow(f"multiples of {multiple}, which is above {MAX_MULTIPLE}")
        multiple = max(one.multiple, other.multiple)
    return made(
        integer=one.integer or other.integer,
        least=tighter(one.least, other.least, 1),
        most=tighter(one.most, other.most, -1),
        multiple=multiple,
    )


def complement(node: Number, losses: Losses) -> Iterator[Node]:
    """The numbers that are not in it."""
    if node.integer:
        losses.shrink("no grammar is made for numbers that are no integers, or no multiples")
    if node.least:
        yield Number(most=Bound(node.least.value, not node.least.exclusive))
    if node.most:
        yield Number(least=Bound(node.most.value, not node.most.exclusive))


def without(values: Iterable[Decimal]) -> Iterator[Node]:
    """All numbers but these."""
    bounds = [None, *(Bound(value, exclusive=True) for value in sorted(values)), None]
    return (Number(least=least, most=most) for least, most in pairwise(bounds))


def multiples(step: Fraction, losses: Losses) -> Number:
    """The multiples of a number; of one that is no integer, those that are integers."""
    if step.denominator != 1:
        losses.shrink("integers only")
    if step.numerator > MAX_MULTIPLE:
        losses.grow(f"multiples of more than {MAX_MULTIPLE}")
        return Number(integer=step.denominator == 1)
    return Number(integer=True, multiple=step.numerator)


def is_multiple(value: Any, step: Fraction, losses: Losses) -> bool:
    """Whether a JSON value is a multiple, and every validator takes it for one: some divide as floats do."""
    if not isinstance(value, int | float) or isinstance(value, bool) or Fraction(decimal(value)) % step:
        return False
    try:
        found = (value / float(step)).is_integer()
    except OverflowError:
        found = False
    if not found:
        losses.shrink("without constants that some validators take for no multiples")
    return found


def admits(node: Number, value: Decimal) -> bool:
    """Whether a number is in it."""
    if node.least and (value < node.least.value or (value == node.least.value and node.least.exclusive)):
        return False
    if node.most and (value > node.most.value or (value == node.most.value and node.most.exclusive)):
        return False
    return not node.integer or (value == value.to_integral_value() and int(value) % node.multiple == 0)


def tighter(one: Bound | None, other: Bound | None, sign: int) -> Bound | None:
    """The bound that says more, of two lower ones (``sign`` 1) or two upper ones (-1)."""
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda bound: (sign * bound.value, bound.exclusive))


def _open(least: Bound, most: Bound) -> bool:
    return least.exclusive or most.exclusive


def _first(least: Bound, multiple: int) -> int:
    """The smallest multiple within a bound."""
    whole = math.floor(least.value) + 1 if least.exclusive else math.ceil(least.value)
    return -(-whole // multiple) * multiple


def _last(most: Bound, multiple: int) -> int:
    whole = math.ceil(most.value) - 1 if most.exclusive else math.floor(most.value)
    return whole // multiple * multiple
