"""Strings of limited length that are counted in runs.

To count each character takes a state of an automaton for each, which is slow in a grammar. So characters are counted in
runs, each as long as the automaton stays in one state, which XGrammar counts fast. A run that does not end the string
takes whole steps of the room that there is: strings of many runs may have to end before they have the greatest length,
those of one run never.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from toolglot.schemas.automaton import Automaton
from toolglot.schemas.charset import EVERYTHING, NOTHING, Charset, single

Place: TypeAlias = tuple[int, int, int]
"""A state, how many characters there must still be, and how many there may be."""

_STEPS = (12, 8, 4)
"""Of how many steps a plan may be."""
_STEPS_OF_WORDS = 4
"""Of how many where there are words, which XGrammar takes longer for."""
_HALVINGS = 4
"""How often the greatest length may be halved until there is a plan."""
_MOST_PLACES = 256
_GREATEST_COST = 250
"""In milliseconds that XGrammar takes for a vocabulary of 130,000 tokens, about."""
_SINGLE = 26
"""So many characters behind a run are written one by one: XGrammar is slow where a class follows a counted one."""
_FAVOURITES = 4
"""How many of more than those are kept, the first of ``_COMMON``, where the run has characters of all kinds."""
_WIDE = 200
"""More characters than these are of all kinds."""
_FEW = 4
"""Up to how many missing characters are counted one by one."""
WORD = 15
"""The characters that a word may have where words are counted."""
_ESCAPED = Charset(((0x00, 0x1F),)) | Charset.of('"\\')
"""What JSON cannot write as it is."""
_SPACE = single(" ")
_COMMON = " -_./,:;@"


@dataclass(frozen=True)
class Way:
    """A run of ``least`` to ``most`` characters of a set (none: no run), up to ``words`` more words of such characters,
    each behind a space, and then one character of ``through`` and the place behind it, or the end of the string.
    ``escaped``: that character is one of the run's, written as an escape.
    """

    among: Charset
    least: int
    most: int
    through: Charset = NOTHING
    target: Place | None = None
    escaped: bool = False
    words: int = 0


Plan: TypeAlias = dict[Place, tuple[Way, ...]]
"""The ways on from each place, the first of which is the start."""


@dataclass(frozen=True)
class Runs:
    """Strings of an automaton that have ``least`` to ``most`` characters, as far as a plan has them."""

    automaton: Automaton
    least: int
    most: int

    @property
    def plan(self) -> Plan:
        """Not empty."""
        return _plan(self.automaton, self.least, self.most)

    def matches(self, text: str) -> bool:
        """Whether the text is one of the strings."""
        plan = self.plan
        queue = [(next(iter(plan)), 0)]
        seen = set(queue)
        for place, at in queue:
            for way in plan[place]:
                end = _end(way, text, at)
                if end == len(text) and way.target is None:
                    return True
                through = way.through & _ESCAPED if way.escaped else way.through
                if end is not None and way.target and end < len(text) and text[end] in through:
                    following = (way.target, end + 1)
                    queue += [following] if following not in seen else []
                    seen.add(following)
        return False

    def shortest(self) -> str:
        """One of the shortest strings."""
        found: dict[Place | None, str] = {None: ""}
        for place in self.backwards():
            ways = (way for way in self.plan[place] if not way.escaped)
            found[place] = min((_begun(way) + found[way.target] for way in ways), key=len)
        return found[next(iter(self.plan))]

    def backwards(self) -> list[Place]:
        """The places of the plan, each behind those that its ways lead to."""
        return sorted(self.plan, key=_room)


def runs(automaton: Automaton, least: int, most: int) -> Runs | None:
    """Strings of the automaton of ``least`` to ``most`` characters; None where they cannot be counted in runs."""
    return Runs(automaton, least, most) if _plan(automaton, least, most) else None


@lru_cache(256)
def _plan(automaton: Automaton, least: int, most: int) -> Plan:
    """The first plan that does not cost too much, which may be one for shorter strings."""
    if len(automaton.table) > _MOST_PLACES:
        return {}
    least = least if len(automaton.shortest() or "") < least else 0
    for shorter in (most >> halvings for halvings in range(_HALVINGS)):
        for steps in _STEPS if shorter >= max(least, 1) else ():
            planner = _Planner(automaton, least, shorter, -(-shorter // steps))
            found = planner.plan() if steps <= _STEPS_OF_WORDS or not planner.spaced else {}
            if found and _cost(found) <= _GREATEST_COST:
                return found
    return {}


def _end(way: Way, text: str, at: int) -> int | None:
    """Where the run of a way and its words end; None where it has no such run."""
    among = way.among - _ESCAPED if way.escaped else way.among
    end = _span(among, text, at, way.most + 1)
    if not way.least <= end - at <= way.most:
        return None
    for _ in range(way.words):
        word = _span(among, text, end + 1, WORD) if text.startswith(" ", end) else end + 1
        if word == end + 1:
            break
        end = word
    return end


def _span(among: Charset, text: str, at: int, most: int) -> int:
    """Where the characters of the set end, or the first ``most`` of them."""
    while most and at < len(text) and text[at] in among:
        at, most = at + 1, most - 1
    return at


def _room(place: Place) -> int:
    return place[2]


def _begun(way: Way) -> str:
    run = way.among.example() * way.least if way.least else ""
    return run + (way.through.example() if way.through else "")


class _Planner:
    """A plan for the strings of an automaton that have ``least`` to ``most`` characters, in steps of ``step``."""

    def __init__(self, automaton: Automaton, least: int, most: int, step: int) -> None:
        self._least = least
        self._most = most
        self._step = step
        self._accepting = automaton.accepting
        self._edges = [dict(edges) for edges in automaton.edges]
        loops = [edges.pop(at, NOTHING) for at, edges in enumerate(self._edges)]
        self._indents = [
            loop if any(len(loop) < len(among) > _WIDE for among in edges.values()) else NOTHING
            for loop, edges in zip(loops, self._edges, strict=True)
        ]
        self._loops = [NOTHING if indent else loop for loop, indent in zip(loops, self._indents, strict=True)]
        self._exits = [list(self._through(at)) for at in range(len(self._edges))]
        self._lags: dict[int, int] = {}
        for at in range(len(self._edges)):
            self._lag(at)
        self._head = min(self._lags[0] + 1, step)

    def plan(self) -> Plan:
        """Without places from which no string ends; empty where there are too many places."""
        start = (0, self._least, self._most)
        found: Plan = {}
        for place in (queue := [start]):
            if place not in found:
                found[place] = tuple(dict.fromkeys(self._ways(*place)))
                queue += [way.target for way in found[place] if way.target and way.target not in found]
            if len(found) > _MOST_PLACES:
                return {}
        return _productive(found, start)

    @property
    def spaced(self) -> bool:
        """Whether there are words, which are as fast in few steps only."""
        return any(map(self._spaced, range(len(self._edges))))

    def _through(self, at: int) -> Iterator[tuple[Charset, int]]:
        """The characters that lead on from a state, and where to; not any of all kinds that lead back, since that would
        be slow.
        """
        loop = self._loops[at]
        for target, among in self._edges[at].items():
            if not loop:
                back = len(among) > _WIDE and not self._begins(among, target) and at in self._beyond(target)
                yield from () if back else ((among, target),)
            elif len(among) <= _SINGLE:
                yield from ((one, target) for one in _singles(among))
            elif len(loop) > _WIDE:
                common = [single(one) for one in _COMMON if one in among]
                yield from ((one, target) for one in common[:_FAVOURITES])
            else:
                yield among, target

    def _beyond(self, at: int) -> set[int]:
        """The states that can be reached."""
        found = {at}
        for one in (queue := [at]):
            queue += self._edges[one].keys() - found
            found |= self._edges[one].keys()
        return found

    def _ways(self, at: int, missing: int, room: int) -> Iterator[Way]:
        if self._loops[at]:
            yield from self._run(at, missing, room)
            return
        if room < 0:
            return
        if at in self._accepting and not missing:
            yield Way(NOTHING, 0, 0)
        for through, target in self._exits[at] if room else ():
            if self._begins(through, target):
                yield from self._begun(target, missing, room)
            else:
                yield Way(NOTHING, 0, 0, through, self._place(target, missing - 1, room - 1))
        first = self._most - room <= self._lags[0] - self._lags[at]
        if self._indents[at] and first and (at == 0 or self._counts(at)):
            yield Way(NOTHING, 0, 0, self._indents[at], (at, max(missing - 1, 0), room - 1))

    def _begins(self, through: Charset, target: int) -> bool:
        """Whether what leads to a state is the first character of its run."""
        return bool(through) and through == self._loops[target]

    def _begun(self, at: int, missing: int, room: int) -> Iterator[Way]:
        """The ways on from a state whose run has at least one character, or an escape."""
        for way in self._run(at, missing, room):
            if way.escaped and not way.least:
                yield replace(way, most=0, words=0)
            if way.most:
                yield replace(way, least=max(way.least, 1))

    def _run(self, at: int, missing: int, room: int) -> Iterator[Way]:
        loop, accepting, words = self._loops[at], at in self._accepting, self._spaced(at)
        if accepting and missing <= room:
            yield Way(loop, missing, room)
        if words and accepting and missing <= WORD < room:
            yield Way(loop, missing, WORD, words=(room - WORD) // (WORD + 1))
        yield from self._counted(loop, loop, at, missing, room, words=words, escaped=True)
        for through, target in self._exits[at]:
            if not (words and through == _SPACE):
                yield from self._counted(loop, through, target, missing, room, words=words)

    def _counted(
        self,
        loop: Charset,
        through: Charset,
        target: int,
        missing: int,
        room: int,
        *,
        words: bool,
        escaped: bool = False,
    ) -> Iterator[Way]:
        """A run and one more character. What may be escaped without need adds little to what is certain, so that a
        string is not admitted with such escapes only.
        """
        needless = escaped and loop == EVERYTHING and missing > 1
        lag = self._lags[target]
        for size in range(self._step, room + 1, self._step):
            first, most = max(size - self._step - lag, 0), size - 1 - lag
            enough = missing - (not needless)
            for least, last in _spans(first, most, enough):
                place = self._place(target, missing - least - (not needless), room - size + lag)
                yield Way(loop, least, last, through, place, escaped=escaped)
            spare = most - WORD
            if words and not first and missing <= 1 and spare > WORD:
                place = self._place(target, missing - 1, room - size + lag)
                yield Way(loop, 0, WORD, through, place, escaped, spare // (WORD + 1))

    def _spaced(self, at: int) -> bool:
        """Whether any of the run's characters may follow it behind a space."""
        behind = next((target for through, target in self._exits[at] if through == _SPACE), at)
        return behind != at and not self._loops[at] - self._edges[behind].get(at, NOTHING)

    def _place(self, at: int, missing: int, room: int) -> Place:
        """A place with no more room, and no less missing, so that there are few behind what is before the first run."""
        used, lag = self._most - room, self._lags[at]
        if used > self._head:
            room = self._most + -(used + lag) // self._step * self._step + lag
            missing = min(-(-missing // self._step) * self._step, self._least) if missing > _FEW else missing
        return at, max(missing, 0), room

    def _counts(self, at: int) -> bool:
        """Whether a run begins with the next character."""
        return bool(self._loops[at]) or any(self._begins(*one) for one in self._exits[at])

    def _lag(self, at: int) -> int:
        """How many characters there may be up to the next run; none where there need not be one."""
        if at not in self._lags:
            self._lags[at] = 0
            if not self._counts(at) and self._exits[at]:
                self._lags[at] = 1 + max(self._lag(target) for _, target in self._exits[at])
        return self._lags[at]


def _spans(least: int, most: int, enough: int) -> Iterator[tuple[int, int]]:
    """Parts of a span of lengths, so that of each it is known whether it is enough; of few, how many are missing."""
    if least < enough <= most:
        yield from ((few, few) for few in range(least, enough)) if enough <= _FEW else ((least, enough - 1),)
        least = enough
    if least <= most:
        yield least, most


def _singles(among: Charset) -> Iterator[Charset]:
    return (single(chr(point)) for first, last in among.ranges for point in range(first, last + 1))


def _productive(plan: Plan, start: Place) -> Plan:
    """The plan without places from which there is no way to the end."""
    ends: set[Place] = set()
    for place in sorted(plan, key=_room):
        if any(way.target is None or way.target in ends for way in plan[place]):
            ends.add(place)
    kept = {place: tuple(way for way in plan[place] if way.target is None or way.target in ends) for place in plan}
    return {place: ways for place, ways in kept.items() if place in ends} if start in ends else {}


def _cost(plan: Plan) -> float:
    """About how many milliseconds XGrammar takes for a plan with a large vocabulary."""
    ways = [way for ways in plan.values() for way in ways]
    return sum(map(_cost_of_way, ways)) + 150 * any(way.words for way in ways)


def _cost_of_way(way: Way) -> float:
    count = len(way.through)
    if way.words or way.escaped or not count:
        return 1
    if not way.among:
        return 50 if count > _WIDE else count / 8
    if count == 1:
        return 80 if way.through == _SPACE else 1
    return min(way.most, 128) * min(len(way.among), _WIDE) / 10
