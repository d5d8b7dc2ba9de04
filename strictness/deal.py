"""Who plays what: every schema with at least one parser, every parser with as many schemas as asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from strictness.schemas import Schema
from strictness.trial import Trial
from toolglot import load_parser, parser_names, plugins
from toolglot.errors import PluginError

_TRIAL = 20
"""Schemas in one trial: what a process does at a time."""


def parsers() -> dict[str, tuple[str, ...]]:
    """The installed parsers by one name of each, with their other names; without those that need a checkpoint."""
    names: dict[int, list[str]] = {}
    for name in sorted(parser_names()):
        names.setdefault(id(plugins.load(name)[0]), []).append(name)
    return {first: tuple(others) for first, *others in names.values() if _loads(first)}


def _loads(name: str) -> bool:
    try:
        load_parser(name)
    except PluginError:  # its format is that of a checkpoint
        return False
    return True


def deal(names: Sequence[str], schemas: Sequence[Schema], *, each: int, seed: int) -> list[Trial]:
    """The trials of a run: hands of at least ``each`` schemas (all, where there are fewer), dealt from a deck that is
    shuffled anew whenever it is used up.
    """
    each = min(max(each, -(-len(schemas) // len(names))), len(schemas))
    cards = _cards(schemas, seed)
    return [trial for name in names for trial in _trials(name, _hand(cards, each), seed)]


def _cards(schemas: Sequence[Schema], seed: int) -> Iterator[Schema]:
    random = Random(seed)  # noqa: S311  # nothing secret
    while True:
        yield from random.sample(schemas, len(schemas))


def _hand(cards: Iterator[Schema], count: int) -> list[Schema]:
    """Cards of which no two are the same: they are where a shuffle falls into a hand."""
    hand: dict[str, Schema] = {}
    while len(hand) < count:
        card = next(cards)
        hand[card.id] = card
    return list(hand.values())


def _trials(name: str, hand: Sequence[Schema], seed: int) -> Iterator[Trial]:
    """Half of them with markers that are tokens."""
    for number, start in enumerate(range(0, len(hand), _TRIAL)):
        yield Trial(name, tuple(hand[start : start + _TRIAL]), tokens=number % 2 == 0, seed=seed)
