"""Deterministic automata over classes of characters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from toolglot.schemas import deadline, expressions
from toolglot.schemas.charset import EVERYTHING, Charset, partition, union
from toolglot.schemas.expressions import MAX_STEPS, Expression, TooLargeError

MAX_STATES = 2_000
FEW = 22
"""So many characters in a set are few (the hexadecimal digits are)."""
_LARGEST_TREE = 200
DEAD = -1
"""The state from which nothing is accepted; it has no row."""

State = TypeVar("State", bound=Hashable)
Row = tuple[int, ...]


@dataclass(frozen=True)
class Automaton:
    """The smallest automaton of a set of strings, numbered in one way only: equal where the sets are.

    ``table[state][n]`` is the state behind a character of ``classes[n]``; state 0 is the first one. Without states no
    string is accepted.
    """

    classes: tuple[Charset, ...]
    table: tuple[Row, ...]
    accepting: frozenset[int]

    def matches(self, text: str) -> bool:
        """Whether the text is accepted."""
        state = 0 if self.table else DEAD
        for one in text:
            number = next((at for at, among in enumerate(self.classes) if one in among), None)
            if state == DEAD or number is None:
                return False
            state = self.table[state][number]
        return state in self.accepting

    @cached_property
    def edges(self) -> tuple[dict[int, Charset], ...]:
        """Of each state, the states behind it with the characters that lead there."""
        return tuple(map(self._edges, self.table))

    def _edges(self, row: Row) -> dict[int, Charset]:
        found: dict[int, list[Charset]] = {}
        for among, target in zip(self.classes, row, strict=True):
            if target != DEAD:
                found.setdefault(target, []).append(among)
        return {target: union(sets) for target, sets in found.items()}

    @cached_property
    def wide_states(self) -> int:
        """The number of states behind which there may be many characters."""
        return sum(sum(map(len, edges.values())) > FEW for edges in self.edges)

    @cached_property
    def cost(self) -> float:
        """About how many milliseconds XGrammar takes for all states, with a large vocabulary."""
        return sum(min(sum(map(len, edges.values())), 200) for edges in self.edges) / 8

    def shortest(self) -> str | None:
        """One of the shortest strings that are accepted; None where none is."""
        reached = {0: ""} if self.table else {}
        for state in (queue := list(reached)):
            if state in self.accepting:
                return reached[state]
            for target, among in self.edges[state].items():
                if target not in reached:
                    reached[target] = reached[state] + among.example()
                    queue.append(target)
        return None


NOTHING = Automaton((), (), frozenset())
"""No string is accepted."""


def automaton(node: Expression) -> Automaton:
    """The automaton of a tree.

    Raises:
        TooLargeError: it has too many states, or takes too long.
    """
    return _Positions(node).automaton()


def tree(one: Automaton) -> Expression | None:
    """The automaton as a small tree; None where it has a cycle of several states, or many ways."""
    trees: dict[int, Expression] = {}
    while len(trees) < len(one.table):
        ready = [at for at, edges in enumerate(one.edges) if at not in trees and edges.keys() <= {at, *trees}]
        if not ready:
            return None
        trees |= {at: _from(one, at, trees) for at in ready}
        if max(expressions.size(trees[at]) for at in ready) > _LARGEST_TREE:
            return None
    return trees.get(0, expressions.NONE)


def _from(one: Automaton, at: int, behind: dict[int, Expression]) -> Expression:
    """The strings that are accepted from a state on, as those from the states behind it are known."""
    edges = dict(one.edges[at])
    stay = expressions.repeat(expressions.chars(edges.pop(at, Charset())), 0, None)
    ways = [expressions.sequence([expressions.chars(among), behind[to]]) for to, among in edges.items()]
    return expressions.sequence(
        [stay, expressions.choice([*ways, *([expressions.EMPTY] if at in one.accepting else ())])]
    )


def intersection(one: Automaton, other: Automaton) -> Automaton:
    """What both accept.

    Raises:
        TooLargeError: it has too many states, or takes too long.
    """
    return _product(one, other, lambda first, second: first and second)


def joined(one: Automaton, other: Automaton) -> Automaton:
    """What one of them accepts.

    Raises:
        TooLargeError: it has too many states, or takes too long.
    """
    return _product(one, other, lambda first, second: first or second)


def complement(one: Automaton) -> Automaton:
    """What is not accepted."""
    every = Automaton((EVERYTHING,), ((0,),), frozenset({0}))
    return _product(every, one, lambda _, second: not second)


def within(one: Automaton, least: int, most: int | None) -> Automaton:
    """What is accepted and has ``least`` to ``most`` characters.

    Raises:
        TooLargeError: it has too many states, or takes too long.
    """
    last = least if most is None else most

    def step(state: tuple[int, int]) -> Iterator[tuple[int, int] | None]:
        at, length = state
        over = most is not None and length >= most
        for target in one.table[at]:
            yield None if over or target == DEAD else (target, min(length + 1, last))

    start = (0, 0) if one.table and (most is None or least <= most) else None
    return _explored(one.classes, start, step, lambda state: state[0] in one.accepting and state[1] >= least)


def _product(one: Automaton, other: Automaton, accepts: Callable[[bool, bool], bool]) -> Automaton:
    found = partition([*one.classes, *other.classes])
    columns = [
        (_bit(mask, 0, len(one.classes)), _bit(mask, len(one.classes), len(other.classes))) for mask in found.values()
    ]

    def step(state: tuple[int, int]) -> Iterator[tuple[int, int] | None]:
        for first, second in columns:
            yield (_next(one, state[0], first), _next(other, state[1], second))

    start = (0 if one.table else DEAD, 0 if other.table else DEAD)
    return _explored(
        tuple(found), start, step, lambda state: accepts(state[0] in one.accepting, state[1] in other.accepting)
    )


def _bit(mask: int, start: int, count: int) -> int | None:
    """Which one of ``count`` bits from ``start`` on is set."""
    part = mask >> start & ((1 << count) - 1)
    return part.bit_length() - 1 if part else None


def _next(one: Automaton, state: int, column: int | None) -> int:
    return DEAD if state == DEAD or column is None else one.table[state][column]


def _explored(
    classes: tuple[Charset, ...],
    start: State | None,
    step: Callable[[State], Iterable[State | None]],
    accepts: Callable[[State], bool],
) -> Automaton:
    """The automaton of all states that can be reached; None is a state from which nothing is accepted."""
    numbers: dict[State, int] = {} if start is None else {start: 0}
    rows: list[Row] = []
    for state in (queue := list(numbers)):
        row = []
        for target in step(state):
            if target is not None and target not in numbers:
                numbers[target] = len(numbers)
                queue.append(target)
            row.append(DEAD if target is None else numbers[target])
        rows.append(tuple(row))
        deadline.check()
        if len(numbers) > MAX_STATES or len(rows) * len(classes) > MAX_STEPS:
            raise TooLargeError(f"an automaton for strings would have over {MAX_STATES} states, or nearly as many")
    return _smallest(classes, rows, {numbers[state] for state in queue if accepts(state)})


def _smallest(classes: tuple[Charset, ...], rows: list[Row], accepting: set[int]) -> Automaton:
    live = _live(rows, accepting)
    trimmed = [tuple(target if target in live else DEAD for target in row) for row in rows]
    blocks = _blocks(trimmed, accepting, live)
    if 0 not in live:
        return NOTHING
    merged: dict[int, Row] = {}
    for state in live:
        merged.setdefault(blocks[state], tuple(blocks.get(target, DEAD) for target in trimmed[state]))
    accepted = {blocks[state] for state in accepting}
    return _numbered(*_columns(classes, merged), merged, blocks[0], accepted)


def _live(rows: list[Row], accepting: set[int]) -> set[int]:
    """The states from which something is accepted."""
    sources = _sources(rows)
    live = set(accepting)
    for state in (queue := list(accepting)):
        for source in sources[state] - live:
            live.add(source)
            queue.append(source)
    return live


def _sources(rows: list[Row]) -> dict[int, set[int]]:
    sources: dict[int, set[int]] = defaultdict(set)
    for state, row in enumerate(rows):
        for target in row:
            sources[target].add(state)
    return sources


def _blocks(rows: list[Row], accepting: set[int], live: set[int]) -> dict[int, int]:
    """The states that accept the same, by number: each block is split until all in it go to the same blocks."""
    sources = _sources(rows)
    members: dict[int, set[int]] = {}
    block = dict.fromkeys(live, 0)
    for number, group in enumerate(group for group in (live & accepting, live - accepting) if group):
        members[number] = set(group)
        block.update(dict.fromkeys(group, number))
    changed = set(live)
    while changed:
        touched: dict[int, set[int]] = defaultdict(set)
        for state in changed:
            for source in sources[state] & live:
                touched[block[source]].add(source)
        changed = set()
        for number, dirty in touched.items():
            for group in _split(members[number], dirty, rows, block):
                changed |= group
                members[number] -= group
                members[new := len(members)] = group
                block.update(dict.fromkeys(group, new))
    return block


def _split(whole: set[int], dirty: set[int], rows: list[Row], block: dict[int, int]) -> list[set[int]]:
    """What leaves a block whose ``dirty`` states go to blocks that have changed; its largest part stays."""
    groups: dict[Row, set[int]] = defaultdict(set)
    for state in dirty:
        groups[tuple(block.get(target, DEAD) for target in rows[state])].add(state)
    parts = [*groups.values()]
    if len(dirty) < len(whole):
        parts.append(whole - dirty)
    parts.sort(key=len)
    return parts[:-1]


def _columns(classes: tuple[Charset, ...], merged: dict[int, Row]) -> tuple[tuple[Charset, ...], list[int]]:
    """The classes, those joined that every state treats alike, and where each one's column is."""
    groups: dict[Row, list[int]] = defaultdict(list)
    for number in range(len(classes)):
        groups[tuple(row[number] for row in merged.values())].append(number)
    used = [group for column, group in groups.items() if any(target != DEAD for target in column)]
    found = {union(classes[number] for number in group): group[0] for group in used}
    ordered = sorted(found, key=lambda one: one.ranges)
    return tuple(ordered), [found[one] for one in ordered]


def _numbered(
    classes: tuple[Charset, ...], columns: list[int], merged: dict[int, Row], start: int, accepting: set[int]
) -> Automaton:
    numbers = {start: 0}
    for state in (queue := [start]):
        for target in (merged[state][column] for column in columns):
            if target != DEAD and target not in numbers:
                numbers[target] = len(numbers)
                queue.append(target)
    numbers[DEAD] = DEAD
    table = tuple(tuple(numbers[merged[state][column]] for column in columns) for state in queue)
    return Automaton(classes, table, frozenset(numbers[state] for state in queue if state in accepting))


class _Positions:
    """The characters of a tree, repetitions written out, as the positions of an automaton that is not deterministic.
    Sets of positions are numbers, one bit each; position 0 is before the first character.
    """

    def __init__(self, node: Expression) -> None:
        if expressions.size(node) > 2 * MAX_STATES:
            raise TooLargeError(f"a pattern has over {2 * MAX_STATES} characters once its repetitions are written out")
        self._sets: list[Charset] = [Charset()]
        self._follow = [0]
        self._steps = 0
        first, last, may_be_empty = self._built(node)
        self._follow[0] = first
        self._last = last | may_be_empty

    def automaton(self) -> Automaton:
        """The deterministic one."""
        sets = list(dict.fromkeys(self._sets))
        found = partition(sets)
        columns = [self._among({one for at, one in enumerate(sets) if mask >> at & 1}) for mask in found.values()]

        def step(state: int) -> Iterator[int | None]:
            follow = 0
            for position in self._counted(state):
                follow |= self._follow[position]
            return (follow & column or None for column in columns)

        return _explored(tuple(found), 1, step, lambda state: bool(state & self._last))

    def _among(self, sets: set[Charset]) -> int:
        return sum(1 << position for position, one in enumerate(self._sets) if one in sets)

    def _counted(self, positions: int) -> Iterator[int]:
        """The positions of a set, each a step."""
        while positions:
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise TooLargeError("a pattern takes too long to be made an automaton")
            lowest = positions & -positions
            yield lowest.bit_length() - 1
            positions ^= lowest

    def _built(self, node: Expression) -> tuple[int, int, bool]:
        """The first and the last positions of the texts of a tree, and whether it has the empty text."""
        match node:
            case expressions.Chars(among):
                self._sets.append(among)
                self._follow.append(0)
                position = 1 << len(self._sets) - 1
                return position, position, False
            case expressions.Sequence(parts):
                return self._chained(map(self._built, parts))
            case expressions.Choice(options):
                found = [self._built(option) for option in options]
                return (
                    _all(first for first, _, _ in found),
                    _all(last for _, last, _ in found),
                    any(e for _, _, e in found),
                )
            case expressions.Repeat(part, least, most):
                return self._repeated(part, least, most)

    def _chained(self, parts: Iterable[tuple[int, int, bool]]) -> tuple[int, int, bool]:
        first, last, may_be_empty = 0, 0, True
        for next_first, next_last, skipped in parts:
            self._link(last, next_first)
            first |= next_first if may_be_empty else 0
            last = next_last | (last if skipped else 0)
            may_be_empty = may_be_empty and skipped
        return first, last, may_be_empty

    def _repeated(self, part: Expression, least: int, most: int | None) -> tuple[int, int, bool]:
        """Each turn is linked to the next one only, even where it may be empty: then there are fewer turns."""
        first = last = ends = 0
        skipped = least == 0
        for turn in range(1, max(least, most or 0, 1) + 1):
            next_first, next_last, may_be_empty = self._built(part)
            skipped = skipped or may_be_empty
            self._link(last, next_first)
            first, last = first or next_first, next_last
            ends |= last if turn >= least or may_be_empty else 0
        if most is None:
            self._link(last, next_first)
        return first, ends, skipped

    def _link(self, sources: int, targets: int) -> None:
        for position in self._counted(sources):
            self._follow[position] |= targets


def _all(positions: Iterable[int]) -> int:
    found = 0
    for one in positions:
        found |= one
    return found
