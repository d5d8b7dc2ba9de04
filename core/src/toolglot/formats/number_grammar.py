"""Numbers as digits: what a grammar admits between two bounds. Expressions are EBNF."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import TypeAlias

from toolglot.formats.ebnf import Rules, one_of, text, times
from toolglot.schemas.normal import Bound, Number

MAX_DIGITS = 18
"""How many digits an integer without a bound has at most: a small model can loop on them otherwise."""
MAX_DECIMALS = 17
_SIGNIFICANT = 15
"""Digits of which a double keeps all: with more, a number could be read as the bound that is not included."""
_FEWER_DIGITS = 9
"""How many a multiple of a large number has, for which each digit takes many rules."""
_LARGE = 100
_LONGEST = 20
"""Digits that hold every 64-bit integer. Longer numbers are written only where there are no others."""
_PRECISION = 400
"""Digits that hold every double."""
_ZERO = Bound(Decimal(0))
_ABOVE_ZERO = Bound(Decimal(0), exclusive=True)

FREE_INTEGER = '"-"? ("0" | [1-9] [0-9]{0,17})'
FREE_NUMBER = f'{FREE_INTEGER} ("." [0-9]{{1,17}})? ([eE] [+-]? [0-9]{{1,2}})?'


def number(node: Number, rules: Rules) -> str | None:
    """A number; None where there is none.

    Raises:
        GrammarError: the multiples need too many rules.
    """
    if node.least is None and node.most is None and node.multiple == 1:
        return rules.name("integer", FREE_INTEGER) if node.integer else rules.name("number", FREE_NUMBER)
    options = list(_integers(node, rules) if node.integer else _decimals(node))
    return rules.name("integer" if node.integer else "number", one_of(options)) if options else None


def _integers(node: Number, rules: Rules) -> Iterator[str]:
    digits = MAX_DIGITS if node.multiple <= _LARGE else _FEWER_DIGITS
    least = -_far(_negative(node.most), _negative(node.least), digits)
    most = _far(node.least, node.most, digits)
    ends = _Multiples(node.multiple, rules).ending
    if least < 0:
        yield from (f'"-" {one}' for one in _between(max(1, -most), -least, ends))
    if most >= 0:
        yield from _between(max(0, least), most, ends)


def _negative(bound: Bound | None) -> Bound | None:
    return bound and Bound(-bound.value, bound.exclusive)


def _far(least: Bound | None, most: Bound | None, digits: int = MAX_DIGITS) -> int:
    """The integer beyond which none is written: within the range of a double, and no longer than it need be."""
    near = int(least.value) if least else 0
    longest = max(int("9" * (digits if most is None else _LONGEST)), min(10 * near, int(sys.float_info.max)))
    return longest if most is None else min(int(most.value), longest)


Ending: TypeAlias = Callable[[int, int], str | None]
"""How a number goes on: for so many more digits behind some that have this value; None where it cannot."""


def _any_digits(count: int, begun: int) -> str:  # noqa: ARG001  # what an ending is asked
    return times("[0-9]", count, count)


class _Multiples:
    """Digits of the multiples of a number: a rule for each remainder and number of digits that are left."""

    def __init__(self, divisor: int, rules: Rules) -> None:
        self._divisor = divisor
        self._rules = rules
        self._known: dict[tuple[int, int], str | None] = {}

    def ending(self, count: int, begun: int) -> str | None:
        """See :data:`Ending`."""
        if self._divisor == 1:
            return _any_digits(count, begun)
        return self._ending(count, begun * 10**count % self._divisor)

    def _ending(self, count: int, rest: int) -> str | None:
        """``rest``: the remainder if zeros follow; all that have the same go on in the same way."""
        if not count:
            return None if rest else ""
        if (count, rest) not in self._known:
            weight = 10 ** (count - 1)
            ways = list(
                _ways(range(10), lambda digit: self._ending(count - 1, (rest + digit * weight) % self._divisor))
            )
            self._known[count, rest] = self._rules.name("multiple", " | ".join(ways)) if ways else None
        return self._known[count, rest]


def _between(least: int, most: int, ends: Ending = _any_digits) -> Iterator[str]:
    """The integers from ``least`` to ``most``, neither negative, by their number of digits."""
    for digits in range(len(str(least)), len(str(most)) + 1):
        low, high = max(least, 10 ** (digits - 1) if digits > 1 else 0), min(most, 10**digits - 1)
        yield from _same_length(str(low), str(high), 0, ends)


def _same_length(low: str, high: str, begun: int, ends: Ending) -> Iterator[str]:
    """The digits from ``low`` to ``high``, which are as many, behind some that have the value ``begun``."""
    left = len(low) - 1
    if low.strip("0") == high.strip("9") == "":
        whole = ends(len(low), begun)
        yield from () if whole is None else (whole,)
        return
    first, last = int(low[0]), int(high[0])
    if first == last or low[1:].strip("0"):
        yield from _behind(first, low[1:], high[1:] if first == last else "9" * left, begun, ends)
        first += 1
    if first <= last and high[1:].strip("9"):
        yield from _behind(last, "0" * left, high[1:], begun, ends)
        last -= 1
    yield from _ways(range(first, last + 1), lambda digit: ends(left, 10 * begun + digit))


def _behind(digit: int, low: str, high: str, begun: int, ends: Ending) -> Iterator[str]:
    found = list(_same_length(low, high, 10 * begun + digit, ends))
    if found:
        yield f"{text(str(digit))} {one_of(found)}".strip()


def _ways(digits: Iterable[int], after: Callable[[int], str | None]) -> Iterator[str]:
    """One of the digits, and what comes after it; None where nothing can."""
    alike: dict[str, str] = {}
    for digit in digits:
        behind = after(digit)
        if behind is not None:
            alike[behind] = alike.get(behind, "") + str(digit)
    yield from (f"[{listed}] {behind}".strip() for behind, listed in alike.items())


def _decimals(node: Number) -> Iterator[str]:
    """Decimal numbers between two bounds, without an exponent."""
    least, most = node.least, node.most
    places = min((_places(one.value) for one in (least, most) if one and one.exclusive), default=MAX_DECIMALS)
    if most is None or most.value > 0 or (most.value == 0 and not most.exclusive):
        low = least if least is not None and least.value >= 0 else _ZERO
        yield from _positive(low, most, places)
    if least is None or least.value < 0:
        low = _ABOVE_ZERO if most is None or most.value >= 0 else Bound(-most.value, most.exclusive)
        high = None if least is None else Bound(-least.value, least.exclusive)
        yield from (f'"-" {one}' for one in _positive(low, high, places))


def _places(value: Decimal) -> int:
    return max(1, _SIGNIFICANT - len(str(abs(int(value)))))


def _positive(low: Bound, high: Bound | None, places: int) -> Iterator[str]:
    """Those from ``low``, which is not negative, to ``high``, with up to so many decimals."""
    whole_low, least = _digits(low, places, ROUND_FLOOR)
    some = f'("." [0-9]{{1,{places}}})?'
    far = _far(low, high)
    whole_high, most = (
        (far + 1, None) if high is None or far < int(high.value) else _digits(high, places, ROUND_CEILING)
    )
    if whole_low == whole_high:
        yield from (f"{text(str(whole_low))} {one}" for one in _fraction(least, most, places))
        return
    if whole_low < whole_high:
        yield from (f"{text(str(whole_low))} {one}" for one in _fraction(least, None, places))
    if whole_low + 1 < whole_high:
        yield f"{one_of(_between(whole_low + 1, whole_high - 1))} {some}"
    if whole_low < whole_high and most is not None:
        yield from (f"{text(str(whole_high))} {one}" for one in _fraction(("", False), most, places))


Limit = tuple[str, bool]
"""Decimals that are left to compare with, and whether just these are excluded."""


def _digits(bound: Bound, places: int, rounding: str) -> tuple[int, Limit]:
    """The whole part, and the decimals without closing zeros. What has more decimals than are written is rounded
    outwards, and then no longer included.
    """
    with localcontext(prec=_PRECISION):
        rounded = bound.value.quantize(Decimal(1).scaleb(-places), rounding=rounding)
        whole = int(rounded)
        decimals = f"{rounded - whole:f}".partition(".")[2].rstrip("0")
        return whole, (decimals, bound.exclusive or rounded != bound.value)


def _fraction(low: Limit, high: Limit | None, places: int) -> Iterator[str]:
    """What may follow a whole part: nothing, or a point and decimals."""
    if _ends(low, high):
        yield '""'
    onward = list(_decimal(low, high, places))
    if onward:
        yield f'"." {one_of(onward)}'


def _ends(low: Limit | None, high: Limit | None) -> bool:
    """Whether a number may end here: what is left of the bounds are zeros in effect."""
    above = low is None or (not low[0] and not low[1])
    return above and (high is None or bool(high[0]) or not high[1])


def _decimal(low: Limit | None, high: Limit | None, left: int) -> Iterator[str]:
    """One decimal and what may follow it. None: that bound is no longer close."""
    if not left:
        return
    if low in (None, ("", False)) and high is None:
        yield times("[0-9]", 1, left)
        return
    first = int(low[0][:1] or "0") if low is not None else 0
    last = int(high[0][:1] or "0") if high is not None else 9
    for digit in range(first, last + 1):
        after_low = (low[0][1:], low[1]) if low is not None and digit == first else None
        after_high = (high[0][1:], high[1]) if high is not None and digit == last else None
        yield from (f"{text(str(digit))} {one}".strip() for one in _onward(after_low, after_high, left - 1))


def _onward(low: Limit | None, high: Limit | None, left: int) -> Iterator[str]:
    if low is None and high is None:
        yield times("[0-9]", 0, left)
        return
    if _ends(low, high):
        yield '""'
    if high == ("", False) and low in (None, ("", False)):  # just the bound: zeros change nothing
        if left:
            yield times('"0"', 1, left)
        return
    yield from _decimal(low, high, left)
