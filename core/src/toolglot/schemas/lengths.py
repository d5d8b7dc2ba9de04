"""The texts of a tree that have a certain length, as a tree where that can be said as one."""

from __future__ import annotations

from toolglot.schemas.charset import EVERYTHING, NOTHING, Charset, union
from toolglot.schemas.expressions import (
    EMPTY,
    NONE,
    Chars,
    Choice,
    Expression,
    Repeat,
    Sequence,
    choice,
    lengths,
    nullable,
    repeat,
    sequence,
)

_SHARE = 256
"""How much longer than it must be any part but the last may be, where parts share the length of a text."""
_COPIES = 4
"""Up to how many turns are written one by one."""
_TURNS = 128
"""Up to how many turns XGrammar writes one by one."""
_WIDE = 200
"""More characters than these are of all kinds."""


def within(node: Expression, least: int, most: int | None) -> Expression | None:
    """The texts of ``least`` to ``most`` characters; None where no tree of the same shape has just those."""
    shortest, longest = lengths(node)
    if _over(max(least, shortest), most) or _over(least, longest):
        return NONE
    if shortest >= least and (most is None or (longest is not None and longest <= most)):
        return node
    match node:
        case Sequence(parts):
            return _sequence(parts, least, most)
        case Choice(options):
            found = [within(option, least, most) for option in options]
            return None if None in found else choice(one for one in found if one is not None)
        case Repeat(part, fewest, highest):
            return _repeat(part, fewest, highest, least, most)
    return NONE


def _over(length: int, most: int | None) -> bool:
    return most is not None and length > most


def shorter(node: Expression, least: int, most: int | None) -> Expression | None:
    """Some of the texts of ``least`` to ``most`` characters: each part that may have many lengths gets its share of
    them. None where that leaves none.
    """
    exact = within(node, least, most)
    if exact is not None:
        return exact if exact != NONE else None
    match node:
        case Sequence(parts):
            return _shared(parts, least, most)
        case Choice(options):
            found = [one for option in options if (one := shorter(option, least, most)) is not None]
            return choice(found) if found else None
        case Repeat(part, fewest, highest) if most is not None:
            return _fewer(part, fewest, highest, least, most)
    return None


def _sequence(parts: tuple[Expression, ...], least: int, most: int | None) -> Expression | None:
    """All but one of the parts have one length each, so that the rest is left for that one."""
    varied = [at for at, part in enumerate(parts) if len(set(lengths(part))) > 1]
    if len(varied) != 1:
        return None
    fixed = sum(lengths(part)[0] for at, part in enumerate(parts) if at != varied[0])
    found = within(parts[varied[0]], max(least - fixed, 0), None if most is None else most - fixed)
    return None if found is None else sequence([*parts[: varied[0]], found, *parts[varied[0] + 1 :]])


def _repeat(part: Expression, fewest: int, highest: int | None, least: int, most: int | None) -> Expression | None:
    shortest, longest = lengths(part)
    if shortest == longest and shortest:
        fewest = max(fewest, -(-least // shortest))
        limits = [limit for limit in (highest, None if most is None else most // shortest) if limit is not None]
        highest = min(limits, default=None)
        return NONE if highest is not None and highest < fewest else repeat(part, fewest, highest)
    if (fewest, highest) == (0, 1):
        found = within(part, least, most)
        return None if found is None else choice([found, EMPTY]) if least == 0 else found
    return None


def _shared(parts: tuple[Expression, ...], least: int, most: int | None) -> Expression | None:
    """Some parts make up for what the text lacks in length, and the last one gets what the others leave over."""
    spans = [lengths(part) for part in parts]
    fewest = _lengthened(parts, least)
    spare = None if most is None else most - sum(fewest)
    if sum(fewest) < least or (spare is not None and spare < 0):
        return None
    rooms = [
        spare if longest is None or spare is None else min(longest - chosen, spare)
        for (_, longest), chosen in zip(spans, fewest, strict=True)
    ]
    found: list[Expression | None] = []
    for at, (part, (shortest, longest), chosen) in enumerate(zip(parts, spans, fewest, strict=True)):
        if shortest == longest:
            found.append(part)
            continue
        rest = sum(room or 0 for room in rooms[at + 1 :])
        portion = (
            spare if spare is None or not rest else min(spare * (rooms[at] or 0) // ((rooms[at] or 0) + rest), _SHARE)
        )
        limits = [one for one in (longest, None if portion is None else chosen + portion) if one is not None]
        highest = min(limits, default=None)
        found.append(shorter(part, chosen, highest))
        spare = None if spare is None or highest is None else spare - (highest - chosen)
    return None if None in found else sequence(one for one in found if one is not None)


def _lengthened(parts: tuple[Expression, ...], least: int) -> list[int]:
    """The least length of each part, as much longer as the whole lacks: best the last repetition of characters."""
    spans = [lengths(part) for part in parts]
    fewest = [shortest for shortest, _ in spans]
    lacking = max(least - sum(fewest), 0)
    simple = [isinstance(part, Repeat) and isinstance(part.part, Chars) for part in parts]
    for at in sorted(range(len(parts)), key=lambda at: (simple[at], at), reverse=True):
        shortest, longest = spans[at]
        added = lacking if longest is None else min(lacking, longest - shortest)
        fewest[at] += added
        lacking -= added
    return fewest


def _fewer(part: Expression, fewest: int, highest: int | None, least: int, most: int) -> Expression | None:
    """Fewer turns, or shorter ones: about as many turns as each has characters."""
    if (fewest, highest) == (0, 1) and least:
        return shorter(part, least, most)
    shortest, longest = lengths(part)
    if least and not shortest:
        return None
    if longest and max(fewest, 2) * longest <= most and shortest * fewest >= least:
        return repeat(part, fewest, most // longest if highest is None else min(highest, most // longest))
    turns = max(fewest, -(-least // max(shortest, 1)), 1)
    while (turns + 1) * max(2 * shortest, turns + 1) <= most and (highest is None or turns < highest):
        turns += 1
    short = shorter(part, shortest, most // turns)
    if short is None or (highest is not None and turns > highest):
        return EMPTY if least == fewest == 0 else None
    return repeat(short, max(fewest, -(-least // max(shortest, 1))), turns)


def cost(node: Expression, behind: Charset = NOTHING) -> float:
    """About how many milliseconds XGrammar takes to count the characters of a tree, with a large vocabulary: next to
    nothing where what follows is none of them, as the first character ``behind`` the text; else some for each turn.
    """
    match node:
        case Chars():
            return 0
        case Sequence(parts):
            whole = 0.0
            for part in reversed(parts):
                whole += cost(part, behind)
                behind = first(part) | (behind if nullable(part) else NOTHING)
            return whole
        case Choice(options):
            return sum(cost(option, behind) for option in options)
        case Repeat(Chars(among), least, most):
            wide = len(among) > _WIDE
            if most is None or most - least <= _COPIES or not (among & behind or (wide and len(behind) > 1)):
                return 0
            return (most if most <= _TURNS else 2 * _TURNS) * min(len(among), _WIDE) / 13
        case Repeat(part, least, most):
            turns = least if most is None else most
            return max(turns, 1) * cost(part, behind | first(part)) if turns <= _COPIES else cost(part, EVERYTHING)


def first(node: Expression) -> Charset:
    """The characters with which a text may begin."""
    match node:
        case Chars(among):
            return among
        case Sequence(parts):
            found = NOTHING
            for part in parts:
                found |= first(part)
                if not nullable(part):
                    break
            return found
        case Choice(options):
            return union(map(first, options))
        case Repeat(part):
            return first(part)
