"""Sets of strings as EBNF for XGrammar.

XGrammar is slow where it must try tokens at run time: at the end of a rule, when what comes behind it is not known.
So every rule goes on to the next one at its very end, and the text behind a string is part of its last rule. It is fast
where a class of characters is counted right before a single character that is none of them; so characters are counted
in runs up to such a one, which may be the backslash of an escape (see :mod:`toolglot.schemas.runs`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from toolglot.schemas import expressions
from toolglot.schemas.automaton import FEW, Automaton, automaton
from toolglot.schemas.charset import EVERYTHING, Charset
from toolglot.schemas.expressions import Chars, Choice, Expression, Repeat
from toolglot.schemas.runs import WORD, Place, Runs, Way, runs

Letters: TypeAlias = Callable[[Charset], Sequence[str]]
"""How one character of a set is spelled: EBNF expressions, one of which it is; none where none of them can be."""

_COPIES = 4
"""Up to how many turns are written one by one."""
_BACKSLASH = r'"\\'
"""How an escape begins."""
_CONTROLS = Charset(((0x00, 0x1F),))
_QUOTED = Charset.of('"\\')
_SHORT = {'"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_HEX = "[0-9a-fA-F]"
_ANY_ESCAPE = (
    rf'"\\" (["\\/bfnrt] | "u" ([0-9a-cefA-CEF] {_HEX} {_HEX} {_HEX} | [dD] ([0-7] {_HEX} {_HEX} |'
    rf' [89abAB] {_HEX} {_HEX} "\\u" [dD] [c-fC-F] {_HEX} {_HEX})))'
)
"""Every escape of one character, which may be a pair of surrogates."""


def json_letters(characters: Charset) -> list[str]:
    """How a JSON string spells a character of a set. Escapes that need not be are there for the set of all only."""
    if characters == EVERYTHING:
        return [character_class(EVERYTHING - _CONTROLS - _QUOTED), _ANY_ESCAPE]
    return json_key_letters(characters)


def json_key_letters(characters: Charset) -> list[str]:
    """How a JSON string spells a character of a set in one way only: as it is, if that can be."""
    plain = characters - _CONTROLS - _QUOTED
    short = "".join(code for one, code in _SHORT.items() if one in characters)
    rest = (characters & _CONTROLS) - Charset.of(_SHORT)
    codes = [(high, "".join(f"{low:x}" for low in range(16) if chr(16 * high + low) in rest)) for high in (0, 1)]
    found = [character_class(plain)] if plain else []
    found += [rf'"\\" {character_class(Charset.of(short))}'] if short else []
    return found + [rf'"\\u00{high}" {character_class(Charset.of(low))}' for high, low in codes if low]


def raw_letters(excluded: str) -> Letters:
    """Characters as they are, but for those of ``excluded``, which cannot be written."""
    never = Charset.of(excluded)

    def letters(characters: Charset) -> list[str]:
        plain = characters - never
        return [character_class(plain)] if plain else []

    return letters


def character_class(characters: Charset) -> str:
    """A class of characters in EBNF. A set of more than a few is written as what it lacks, which XGrammar counts
    faster; the surrogates are among that, or else their code points could be written, in what would be no UTF-8.
    """
    lacking = ~characters
    if lacking and (len(characters) > FEW or len(lacking.ranges) <= len(characters.ranges)):
        return rf"[^{_ranges(lacking)}\ud800-\udfff]"
    return f"[{_ranges(characters)}]"


def _ranges(characters: Charset) -> str:
    return "".join(
        _code(first) if first == last else f"{_code(first)}-{_code(last)}" for first, last in characters.ranges
    )


def _code(point: int) -> str:
    r"""One character in a class. XGrammar reads any number of digits behind ``\x``, but four behind ``\u``."""
    if 0x20 <= point < 0x7F and chr(point) not in '[]^-"\\':
        return chr(point)
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def written(strings: Expression | Automaton | Runs, name: str, letters: Letters, end: str) -> list[str] | None:
    """The rules of a set of strings, the first of which is ``name``; see :func:`toolglot.schemas.language.rules`."""
    rules = _Rules(name, letters)
    if isinstance(strings, Runs):
        options = rules.runs(strings, end)
    else:
        options = rules.states(strings, end) if isinstance(strings, Automaton) else rules.followed(strings, end)
    return [f"{name} ::= {' | '.join(options)}", *rules.lines] if options else None


class _Rules:
    """Rules of one set of strings. What follows a part is ``rest``, a short expression: none, a text or a rule."""

    def __init__(self, name: str, letters: Letters) -> None:
        self.lines: list[str] = []
        self._name = name
        self._letters = letters
        self._known: dict[str, str] = {}
        self._bodies: dict[str, list[str]] = {}
        self._count = 0

    def states(self, strings: Automaton, end: str) -> list[str]:
        """The ways out of the first state. There is a rule for every state that has several ways out, or in."""
        spelled = [{to: self._letters(among) for to, among in edges.items()} for edges in strings.edges]
        useful = _useful(spelled, strings.accepting)
        ways = {
            at: [(one, to) for to, spellings in spelled[at].items() if to in useful for one in spellings]
            for at in useful
        }
        entries = Counter(to for found in ways.values() for _, to in found)
        through = {at for at in useful - strings.accepting if len(ways[at]) == 1 and entries[at] == 1}
        names = {at: self._new() for at in useful - through if entries[at] and ways[at]}

        def onward(at: int) -> str:
            passed = []
            while at in through:
                spelling, at = ways[at][0]
                passed.append(spelling)
            return " ".join([*passed, names[at] if ways[at] else end])

        def body(at: int) -> list[str]:
            return [
                *([end or '""'] if at in strings.accepting else ()),
                *(f"{one} {onward(to)}" for one, to in ways[at]),
            ]

        self.lines += [f"{name} ::= {' | '.join(body(at))}" for at, name in names.items()]
        return [names[0]] if 0 in names else body(0) if 0 in useful else []

    def followed(self, node: Expression, rest: str) -> list[str]:
        """The ways in which a text of a tree and then ``rest`` can be spelled."""
        match node:
            case Chars(among):
                return [_then(one, rest) for one in self._letters(among)]
            case expressions.Sequence(parts):
                return self._sequence(parts, rest)
            case Choice(options):
                rest = self._short(rest)
                return [way for option in options for way in self.followed(option, rest)]
            case Repeat(Chars(among), least, most):
                return self._characters(list(self._letters(among)), among, least, most, rest)
            case Repeat(part, least, most):
                return self._repeated(part, least, most, rest)

    def runs(self, strings: Runs, end: str) -> list[str]:
        """The ways out of the first place. There is a rule for every other place."""
        names: dict[Place, str] = {}
        found: list[str] = []
        for place in strings.backwards():
            found = [one for way in strings.plan[place] for one in self._way(way, names, end)]
            if found and place != next(iter(strings.plan)):
                names[place] = self._rule(found)
        return found

    def _way(self, way: Way, names: dict[Place, str], end: str) -> list[str]:
        """How a way and what follows can be spelled."""
        plain, escapes = self._spelled(way.among)
        if (way.least and not plain) or (way.target and way.target not in names):
            return []
        run = self._run(way, plain)
        if way.target is None:
            return [_then(run, end) if run else end or '""']
        exits = escapes if way.escaped else self._letters(way.through)
        return [" ".join(filter(None, (run, one, names[way.target]))) for one in exits]

    def _spelled(self, among: Charset) -> tuple[str, list[str]]:
        """The class of those characters of a set that are written as they are, if any are, and the escapes, as one."""
        spelled = self._letters(among) if among else ()
        escapes = [one for one in spelled if one.startswith(_BACKSLASH)]
        plain = "" if len(escapes) == len(spelled) else spelled[0]
        codes = [f'"{one.removeprefix(_BACKSLASH)}'.removeprefix('"" ') for one in escapes]
        return plain, [f'{_BACKSLASH}" {self._rule(codes)}'] if codes else []

    def _run(self, way: Way, plain: str) -> str:
        if not plain or not way.most:
            return ""
        run = _times(plain, way.least, way.most)
        if not way.words:
            return run
        word = self._rule([f'" " {_times(plain, 1, WORD)}'])
        return f"{run} {word}{{0,{way.words}}}"

    def _sequence(self, parts: tuple[Expression, ...], rest: str) -> list[str]:
        ways = [rest or '""']
        for part in reversed(parts):
            ways = self.followed(part, ways[0] if len(ways) == 1 else self._rule(ways))
            if not ways:
                return []
        return ways

    def _repeated(self, part: Expression, least: int, most: int | None, rest: str) -> list[str]:
        if least > _COPIES or (most is not None and most - least > _COPIES):
            return self._counted(part, least, most, rest)
        if most is None:
            loop, nothing = self._new(), [rest or '""']
            turns = self.followed(part, loop)
            self.lines.append(f"{loop} ::= {' | '.join([*nothing, *turns])}")
            return self._sequence((part,) * least, loop)
        ways = [rest or '""']
        for _ in range(most - least):
            rest = self._short(rest)
            ways = [rest or '""', *self.followed(part, ways[0] if len(ways) == 1 else self._rule(ways))]
        return self._sequence((part,) * least, ways[0] if len(ways) == 1 else self._rule(ways)) if least else ways

    def _counted(self, part: Expression, least: int, most: int | None, rest: str) -> list[str]:
        turn = self.followed(part, "")
        if not turn:
            return [] if least else [rest or '""']
        return [_then(f"{self._rule(turn)}{{{least},{'' if most is None else most}}}", rest)]

    def _characters(self, ways: list[str], among: Charset, least: int, most: int | None, rest: str) -> list[str]:
        """Many characters of one set."""
        if not ways:
            return [] if least else [rest or '""']
        if len(ways) == 1:
            behind = self._bodies.get(rest, []) if most is not None and most > least else []
            direct = 0 < len(behind) <= _COPIES and all(one.startswith('"') for one in behind)
            return [_then(_times(ways[0], least, most), one) for one in (behind if direct else [rest])]
        if most is None:
            return self._fixed(ways, least, self._loop(ways, rest))
        if most <= _COPIES:
            return self._repeated(Chars(among), least, most, rest)
        counted = runs(automaton(expressions.repeat(Chars(among), 0, None)), least, most)
        return self.runs(counted, self._short(rest)) if counted else []

    def _loop(self, ways: list[str], rest: str) -> str:
        """The rule for any number of these and then ``rest``."""
        out = rest or '""'
        key = " | ".join([out, *ways])
        if key not in self._known:
            loop = self._known[key] = self._new()
            self.lines.append(f"{loop} ::= {' | '.join([out, *(f'{way} {loop}' for way in ways)])}")
        return self._known[key]

    def _fixed(self, ways: list[str], count: int, rest: str) -> list[str]:
        """So many characters and then ``rest``."""
        found = [rest or '""']
        for _ in range(count):
            behind = found[0] if len(found) == 1 else self._rule(found)
            found = [_then(way, behind) for way in ways]
        return found

    def _short(self, rest: str) -> str:
        return rest if rest == "" or " " not in rest else self._rule([rest])

    def _rule(self, ways: list[str]) -> str:
        """The name of a rule with these ways; the same for the same."""
        body = " | ".join(ways)
        if body not in self._known:
            name = self._known[body] = self._new()
            self._bodies[name] = ways
            self.lines.append(f"{name} ::= {body}")
        return self._known[body]

    def _new(self) -> str:
        self._count += 1
        return f"{self._name}_{self._count}"


def _useful(spelled: list[dict[int, Sequence[str]]], accepting: frozenset[int]) -> set[int]:
    """The states from which a string can be spelled to its end."""
    useful = set(accepting)
    grown = True
    while grown:
        more = {
            state for state, edges in enumerate(spelled) if any(ways and to in useful for to, ways in edges.items())
        }
        grown = not more <= useful
        useful |= more
    return useful


def _then(way: str, rest: str) -> str:
    return way if rest in ("", '""') else f"{way} {rest}"


def _times(way: str, least: int, most: int | None) -> str:
    """A class of characters so many times."""
    if (least, most) == (0, None):
        return f"{way}*"
    if most is None:
        return f"{way} " * least + f"{way}*" if least <= _COPIES else f"{way}{{{least},}}"
    return way if (least, most) == (1, 1) else f"{way}{{{least},{most}}}"
