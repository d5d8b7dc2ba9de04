"""The texts of a tree that have a certain length, as a tree where that can be said as one."""

from __future__ import annotations

from toolglot.schemas.expressions import (
    EMPTY,
    NONE,
    Chars,
    Choice,
    Expression,
    Limit,
    Repeat,
    Sequence,
    choice,
    lengths,
    limit,
    repeat,
    sequence,
)

_SHARE = 256
"""How much longer than it must be any part but the last may be, where parts share the length of a text."""


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
        case Limit(part, highest):
            longer = within(part, least, None)
            return None if longer is None else limit(longer, highest if most is None else min(highest, most))
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
        case Limit(part, highest):
            return shorter(part, least, highest if most is None else min(highest, most))
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
    left = sum(shortest != longest for shortest, longest in spans)
    found: list[Expression | None] = []
    for part, (shortest, longest), chosen in zip(parts, spans, fewest, strict=True):
        if shortest == longest:
            found.append(part)
            continue
        portion = spare if spare is None or left == 1 else min(spare // left, _SHARE)
        limits = [one for one in (longest, None if portion is None else chosen + portion) if one is not None]
        highest = min(limits, default=None)
        found.append(shorter(part, chosen, highest))
        spare, left = None if spare is None or highest is None else spare - (highest - chosen), left - 1
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
    if longest is not None and longest and fewest * longest <= most and shortest * fewest >= least:
        return repeat(part, fewest, most // longest if highest is None else min(highest, most // longest))
    turns = max(fewest, -(-least // max(shortest, 1)), 1)
    while (turns + 1) * max(2 * shortest, turns + 1) <= most and (highest is None or turns < highest):
        turns += 1
    short = shorter(part, shortest, most // turns)
    if short is None or (highest is not None and turns > highest):
        return EMPTY if least == fewest == 0 else None
    return repeat(short, max(fewest, -(-least // max(shortest, 1))), turns)
