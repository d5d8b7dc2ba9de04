"""Sets of strings: lengths, and languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from toolglot.schemas.automaton import Automaton
from toolglot.schemas.effort import Effort
from toolglot.schemas.language import Language, TooLargeError, anything, literals
from toolglot.schemas.losses import Losses
from toolglot.schemas.normal import Constants, Node, String, Union
from toolglot.schemas.unsettled import NOTHING

_TOO_LARGE = 300
"""How many states could have been made while it was found out that there would be too many."""


def made(least: int, most: int | None) -> Node:
    """The strings that are that long; :data:`NOTHING` where there are none."""
    return NOTHING if most is not None and least > most else String(least, most)


def intersect(one: String, other: String, losses: Losses) -> Node:
    """The strings in both."""
    least = max(one.least, other.least)
    most = min((most for most in (one.most, other.most) if most is not None), default=None)
    language = both(one.language, other.language, losses)
    if language is None:
        return made(least, most)
    if (least, most) == (0, None):
        return of(language)
    within = tried(lambda: language.within(least, most), losses.effort)
    if within is None:
        losses.grow("the automaton would be too large")
        return one
    if within.narrowed and within.strings != language.strings:
        losses.shrink("with a pattern or format too, not all of the strings of these lengths")
    return of(within)


def of(language: Language) -> Node:
    """The strings of a language; :data:`NOTHING` where there are none."""
    return NOTHING if language.empty else String(language=language)


def complement(node: String, losses: Losses) -> Iterator[Node]:
    """The strings that are not in it."""
    if node.language is not None:
        found = tried(node.language.complement, losses.effort) or _given_up(literals(()), losses.shrink)
        yield of(found)
    if node.least:
        yield String(0, node.least - 1)
    if node.most is not None:
        yield String(node.most + 1)


def both(one: Language | None, other: Language | None, losses: Losses) -> Language | None:
    """The strings of both languages (None: all)."""
    if one is None or other is None:
        return one or other
    return tried(lambda: one.intersect(other), losses.effort) or _given_up(one, losses.grow)


def tried(operation: Callable[[], Language], effort: Effort) -> Language | None:
    """What an operation on languages gives, its effort counted; None where it is too large, alone or with others."""
    if effort.exhausted:
        return None
    try:
        found = operation()
    except TooLargeError:
        effort.build(_TOO_LARGE)
        return None
    effort.build(len(found.strings.table) if isinstance(found.strings, Automaton) else 1)
    return found


def built(operation: Callable[[], Language], effort: Effort) -> Language:
    """What an operation on languages gives, as :func:`tried`.

    Raises:
        TooLargeError: it is too large.
    """
    found = tried(operation, effort)
    if found is None:
        raise TooLargeError("the automaton would be too large")
    return found


def certain(language: Language) -> Language:
    """Just the strings that every validator takes for those of the language; its complement are all others."""
    return Language(language.strings, narrowed=language.narrowed)


def possible(language: Language) -> Language:
    """The strings that some validator takes for those of the language."""
    return Language(language.complement().strings).complement()


def _given_up(otherwise: Language, note: Callable[[str], None]) -> Language:
    note("the automaton would be too large")
    return otherwise


def language(node: Node, losses: Losses) -> Language | None:
    """The strings of a node (None: all)."""
    if isinstance(node, Union):
        return _any([language(option, losses) for option in node.options], losses)
    if isinstance(node, Constants):
        return literals([value for value in node.values if isinstance(value, str)])
    if isinstance(node, String):
        plain = node.language is None and (node.least, node.most) != (0, None)
        return anything.within(node.least, node.most) if plain else node.language
    losses.grow("names by reference")
    return None


def _any(languages: list[Language | None], losses: Losses) -> Language | None:
    """The strings of one of the languages."""
    found = languages[0]
    for one in languages[1:]:
        if found is None or one is None:
            return None
        found = tried(partial(found.union, one), losses.effort)
        if found is None:
            losses.grow("the automaton of the names would be too large")
    return found
