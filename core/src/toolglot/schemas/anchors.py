"""``^`` and ``$`` wherever they stand in a pattern, resolved into trees without them.

A part of a pattern is its texts by where they may stand: those that need the beginning of the whole text before them,
those that need its end behind them, those that need both, and all others. An anchor is the empty text with a need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from toolglot.schemas.charset import Charset
from toolglot.schemas.expressions import (
    ANYTHING,
    EMPTY,
    NONE,
    Chars,
    Expression,
    chars,
    choice,
    nullable,
    repeat,
    sequence,
)

Need: TypeAlias = tuple[bool, bool]
"""Whether a text needs the beginning before it, and the end behind it."""
Anchored: TypeAlias = Mapping[Need, Expression]

FREE, BEGIN, END, BOTH = (False, False), (True, False), (False, True), (True, True)
_LINE_BREAK = repeat(Chars(Charset.of("\n")), 0, 1)


def free(node: Expression) -> Anchored:
    """Texts that may stand anywhere."""
    return {FREE: node}


def anywhere(part: Anchored, *, wide: bool, inside: bool = True) -> Expression:
    """The whole texts in which the part occurs; with ``inside`` False, those that begin with it. If ``wide``, the end
    may be before a last line break too, as it is in Python.
    """
    end = _LINE_BREAK if wide else EMPTY
    return choice(
        sequence([_before(node, ends) if inside and not begins else EMPTY, node, end if ends else ANYTHING])
        for (begins, ends), node in part.items()
    )


def _before(node: Expression, ends: bool) -> Expression:
    """The text before a part. Where one character is looked for, only the first that there is counts."""
    return repeat(chars(~node.among), 0, None) if isinstance(node, Chars) and not ends else ANYTHING


def either(parts: Iterable[Anchored]) -> Anchored:
    """One of the parts."""
    return _gathered(item for part in parts for item in part.items())


def series(parts: list[Anchored]) -> Anchored:
    """One part after the other."""
    whole: Anchored = free(EMPTY)
    run: list[Expression] = []
    for part in [*parts, None]:
        if part is not None and part.keys() == {FREE}:
            run.append(part[FREE])
            continue
        whole = _joined(whole, free(sequence(run))) if run else whole
        whole, run = whole if part is None else _joined(whole, part), []
    return whole


def times(part: Anchored, least: int, most: int | None) -> Anchored:
    """The part ``least`` to ``most`` times."""
    if part.keys() == {FREE}:
        return free(repeat(part[FREE], least, most))
    return _gathered(_turns(part, least, most))


def _turns(part: Anchored, least: int, most: int | None) -> Iterator[tuple[Need, Expression]]:
    """The first turn may need the beginning and the last one the end. Before the first and behind the last there may
    be any number of turns that are empty and need the same.
    """
    plain, first, last, lone = (part.get(need, NONE) for need in (FREE, BEGIN, END, BOTH))
    padded = _has_empty(first) or _has_empty(last)
    yield FREE, repeat(plain, least, most)
    if most == 0:
        return
    yield BEGIN, sequence([first, _others(plain, least, most, 1, padded=_has_empty(first))])
    yield END, sequence([_others(plain, least, most, 1, padded=_has_empty(last)), last])
    yield BOTH, lone if least < 2 or padded else EMPTY if _has_empty(lone) else NONE
    if most is None or most > 1:
        yield BOTH, sequence([first, _others(plain, least, most, 2, padded=padded), last])


def _others(plain: Expression, least: int, most: int | None, taken: int, *, padded: bool) -> Expression:
    return repeat(plain, 0 if padded else max(least - taken, 0), None if most is None else most - taken)


def _joined(one: Anchored, other: Anchored) -> Anchored:
    return _gathered(
        ((first[0] or second[0], first[1] or second[1]), sequence([_left(left, second), _right(right, first)]))
        for first, left in one.items()
        for second, right in other.items()
    )


def _left(node: Expression, behind: Need) -> Expression:
    """What may stand before a text that may need the beginning: then nothing does."""
    return node if not behind[0] else EMPTY if _has_empty(node) else NONE


def _right(node: Expression, before: Need) -> Expression:
    return node if not before[1] else EMPTY if _has_empty(node) else NONE


def _has_empty(node: Expression) -> bool:
    return node != NONE and nullable(node)


def _gathered(found: Iterable[tuple[Need, Expression]]) -> Anchored:
    whole: dict[Need, list[Expression]] = {}
    for need, node in found:
        whole.setdefault(need, []).append(node)
    united = {need: choice(nodes) for need, nodes in whole.items()}
    return {need: node for need, node in united.items() if node != NONE} or free(NONE)
