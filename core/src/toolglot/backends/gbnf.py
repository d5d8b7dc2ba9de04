"""Structural tags as GBNF, the grammars of llama.cpp.

What GBNF cannot say is refused, never left out. Rules refer to themselves at their ends only: llama.cpp follows that
without a growing stack, and refuses it elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from toolglot.errors import GrammarError, UnenforceableError
from toolglot.formats.ebnf import Rules
from toolglot.formats.text_grammar import spelled
from toolglot.schemas.language import pattern
from toolglot.structural_tag import (
    AnyText,
    ConstString,
    Format,
    Grammar,
    Optional,
    Or,
    Regex,
    Repeat,
    StructuralTag,
    Tag,
    TagsWithSeparator,
    Token,
    TokenTriggeredTags,
    TriggeredTags,
)
from toolglot.structural_tag import Sequence as Series

_MOST_REPEATS = 2000
"""More make llama.cpp refuse a grammar."""
_LEXEMES = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<chars>\[(?:[^\]\\]|\\.)*\])
    |Token\((?P<token>\d+)\)
    |TagDispatch\(loop_after_dispatch=false,\ excludes=\((?P<free>(?:"(?:[^"\\]|\\.)*"[,\s]*)*)\)\)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<times>\{\d+(?:,\d*)?\}|[*+?])
    |(?P<mark>[()|])
    |(?P<space>[ \t]+)""",
    re.VERBOSE,
)
_CHAR = re.compile(r"\\x([0-9a-fA-F]+)|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\(.)|([^\\])", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", **{char: char for char in "\"\\[]^-/'"}}
_ANYTHING = r"[^\u0000]"
_NOTHING = '""'


def gbnf(tag: str, names: Mapping[int, str]) -> str:
    """The GBNF of a structural tag, given as XGrammar's JSON; ``names`` are the texts of the tokens in it.

    Raises:
        UnenforceableError: GBNF cannot say it.
    """
    try:
        form = msgspec.json.decode(tag, type=StructuralTag).format
        return _Writer(names).grammar(form)
    except RecursionError as error:
        raise _beyond("it is nested too deeply") from error


class _Writer:
    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names
        self._rules: list[str] = []
        self._made: dict[object, str] = {}

    def grammar(self, form: Format) -> str:
        root = self._format(form)
        return "\n".join([f"root ::= {root}", *self._rules]) + "\n"

    def _format(self, form: Format) -> str:
        """An expression for a format, that may stand anywhere."""
        match form:
            case ConstString(value):
                return text(value)
            case Token(token):
                return f"<[{token}]>"
            case Grammar(grammar, syntax="ebnf"):
                return self._ebnf(grammar)
            case Regex(source):
                return self._ebnf(_regex(source))
            case AnyText(excludes):
                return self._free_text(excludes)
        return self._composite(form)

    def _composite(self, form: Format) -> str:
        """As :meth:`_format`, for formats that are made of others."""
        match form:
            case Series(elements):
                return _series(map(self._format, elements))
            case Or(elements):
                return _either(map(self._format, elements))
            case Optional(content):
                return f"({self._format(content)})?"
            case Repeat(least, most, content):
                return _repeat(self._format(content), least, most)
            case Tag():
                return _series(self._tag(form))
            case TagsWithSeparator():
                return self._list(form)
            case TriggeredTags(at_least_one=False):
                return self._triggered(form)
            case TokenTriggeredTags(at_least_one=False):
                return self._token_triggered(form)
        raise _beyond(f"it has no form for {msgspec.to_builtins(form)['type']!r}")

    # -- tags

    def _tag(self, tag: Tag, begun: int = 0) -> Iterator[str]:
        """The parts of a tag, behind the first ``begun`` characters of what it begins with."""
        yield text(tag.begin[begun:]) if isinstance(tag.begin, str) else self._format(tag.begin)
        ends = tag.end if isinstance(tag.end, tuple) else (tag.end,)
        if isinstance(tag.content, AnyText):
            texts = tuple(end for end in ends if isinstance(end, str) and end)
            yield self._free_text((*tag.content.excludes, *texts))
        else:
            yield self._format(tag.content)
        yield _either(text(end) if isinstance(end, str) else self._format(end) for end in ends)

    def _list(self, form: TagsWithSeparator) -> str:
        one = self._rule("tag", _either(_series(self._tag(tag)) for tag in form.tags))
        more = "" if form.stop_after_first else f" ({text(form.separator)} {one})*"
        return f"({one}{more})" if form.at_least_one else f"({one}{more})?"

    def _triggered(self, form: TriggeredTags) -> str:
        def follow(start: str, trigger: str) -> str:
            tags = [tag for tag in form.tags if isinstance(tag.begin, str) and tag.begin.startswith(trigger)]
            if not tags:
                raise _beyond(f"no tag begins with its trigger {trigger!r}")
            rests = _either(_series(self._tag(tag, len(trigger))) for tag in tags)
            return rests if form.stop_after_first else f"{rests} {start}"

        hits = {trigger: partial(follow, trigger=trigger) for trigger in form.triggers}
        return self._free("free", form.excludes, hits)

    def _token_triggered(self, form: TokenTriggeredTags) -> str:
        """Free text in which the tokens are not spelled either: llama.cpp knows special tokens by their text too."""
        tokens = (*form.trigger_tokens, *form.exclude_tokens)
        tags = self._rule("tags", _either(_series(self._tag(tag)) for tag in form.tags))
        free = self._free_text(tuple(self._names[token] for token in tokens))
        return f"{free} ({tags})?" if form.stop_after_first else f"{free} ({tags} {free})*"

    # -- free text

    def _free_text(self, excludes: tuple[str, ...]) -> str:
        return self._free("text", excludes, {})

    def _free(self, hint: str, excludes: tuple[str, ...], hits: Mapping[str, _Follow]) -> str:
        """Any text in which no exclude occurs, and behind each hit what follows it: an automaton that knows of the
        text so far the longest end with which one of them begins.
        """
        key = (hint, excludes, tuple(hits.items()))
        if not excludes and not hits:
            return f"{_ANYTHING}*"
        if key not in self._made:
            self._made[key] = self._automaton(hint, excludes, hits)
        return self._made[key]

    def _automaton(self, hint: str, excludes: tuple[str, ...], hits: Mapping[str, _Follow]) -> str:
        wanted = tuple(filter(None, (*excludes, *hits)))
        starts = sorted({one[:size] for one in wanted for size in range(len(one))}, key=lambda one: (len(one), one))
        known = [start for start in starts if not any(one in start for one in wanted)]
        names = {start: self._reserve(hint) for start in known}
        chars = sorted({char for one in wanted for char in one})
        for start, name in names.items():
            moves: dict[str, str] = {}  # what follows, by what comes
            for char in chars:
                found = self._move(start + char, excludes, hits, names)
                if found != names[""]:
                    moves[char] = found
            options = [f"{_one_of(group)} {follows}" for follows, group in _grouped(moves) if follows]
            self._define(name, " | ".join([f"{_but(moves)} {names['']}", *options, _NOTHING]))
        return names[""]

    def _move(
        self, so_far: str, excludes: tuple[str, ...], hits: Mapping[str, _Follow], names: Mapping[str, str]
    ) -> str:
        """What may follow: nothing where an exclude is complete."""
        if any(so_far.endswith(one) for one in excludes):
            return ""
        for trigger, follow in hits.items():
            if so_far.endswith(trigger):
                return self._followed(trigger, follow, names[""])
        return next(names[so_far[at:]] for at in range(len(so_far) + 1) if so_far[at:] in names)

    def _followed(self, trigger: str, follow: _Follow, start: str) -> str:
        key = ("behind", trigger, start)
        if key not in self._made:
            self._made[key] = self._reserve("behind")
            self._define(self._made[key], follow(start))
        return self._made[key]

    # -- rules

    def _ebnf(self, grammar: str) -> str:
        """The name of the first rule of a grammar in XGrammar's EBNF, with all its rules."""
        if grammar not in self._made:
            prefix = f"g{len(self._made)}-"
            self._made[grammar] = prefix + "root"
            for line in filter(None, grammar.splitlines()):
                name, _, body = line.partition(" ::= ")
                self._define(_name(prefix, name), self._translated(body, prefix))
        return self._made[grammar]

    def _translated(self, body: str, prefix: str) -> str:
        place, written = 0, []
        while place < len(body):
            found = _LEXEMES.match(body, place)
            if found is None:
                raise _beyond(f"it does not know {body[place : place + 20]!r}")
            written.append(self._lexeme(found, prefix))
            place = found.end()
        return "".join(written) or _NOTHING

    def _lexeme(self, found: re.Match[str], prefix: str) -> str:
        value = found[0]
        match found.lastgroup:
            case "text":
                return text(_unescaped(value[1:-1]))
            case "chars":
                return _chars(value[1:-1])
            case "token":
                return f"<[{found['token']}]>"
            case "free":
                excludes = re.findall(r'"((?:[^"\\]|\\.)*)"', found["free"])
                return self._free_text(tuple(map(_unescaped, excludes)))
            case "name":
                return _name(prefix, value)
            case "times":
                _check_times(value)
        return value

    def _rule(self, hint: str, body: str) -> str:
        name = self._reserve(hint)
        self._define(name, body)
        return name

    def _reserve(self, hint: str) -> str:
        name = f"{hint}-{len(self._made)}"
        self._made[name] = name
        return name

    def _define(self, name: str, body: str) -> None:
        self._rules.append(f"{name} ::= {body}")


_Follow = partial[str]
"""Writes what follows a hit, given the rule for free text."""


def text(value: str) -> str:
    """Just this text."""
    return '"' + "".join(_in_text(char) for char in value) + '"'


def _in_text(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() and not "\ud800" <= char <= "\udfff" else _code(ord(char))


def _code(point: int) -> str:
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def _in_class(point: int) -> str:
    char = chr(point)
    return char if char.isascii() and (char.isalnum() or char in " <>/_") else _code(point)


def _chars(inside: str) -> str:
    """A class of characters."""
    negated = inside.startswith("^")
    points = [_point(found) for found in _CHAR.finditer(inside[negated:])]
    raw = [found[0] for found in _CHAR.finditer(inside[negated:])]
    if not negated and (raw[1:2], points[:1], points[2:]) == (["-"], [0], [0x10FFFF]):
        return _ANYTHING
    written = ["-" if 0 < at < len(raw) - 1 and raw[at] == "-" else _in_class(one) for at, one in enumerate(points)]
    return f"[{'^' * negated}{''.join(written)}]"


def _point(found: re.Match[str]) -> int:
    digits = found[1] or found[2] or found[3]
    if digits:
        return int(digits, 16)
    if found[4] is not None and found[4] not in _ESCAPES:
        raise _beyond(f"it does not know {found[0]!r}")
    return ord(found[5] if found[4] is None else _ESCAPES[found[4]])


def _unescaped(value: str) -> str:
    return "".join(chr(_point(found)) for found in _CHAR.finditer(value))


def _one_of(chars: Iterable[str]) -> str:
    return f"[{''.join(_in_class(ord(char)) for char in chars)}]"


def _but(chars: Iterable[str]) -> str:
    listed = "".join(_in_class(ord(char)) for char in chars)
    return f"[^{listed}]" if listed else _ANYTHING


def _grouped(moves: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for char, follows in moves.items():
        groups.setdefault(follows, []).append(char)
    return list(groups.items())


def _series(parts: Iterable[str]) -> str:
    found = [part for part in parts if part != _NOTHING]
    return " ".join(found) or _NOTHING


def _either(options: Iterable[str]) -> str:
    found: Sequence[str] = list(dict.fromkeys(options))
    return found[0] if len(found) == 1 else f"({' | '.join(found)})"


def _repeat(one: str, least: int, most: int) -> str:
    if most == 0:
        return _NOTHING
    times = f"{{{least},{'' if most < 0 else most}}}"
    _check_times(times)
    return f"({one}){times}"


def _check_times(times: str) -> None:
    if any(int(number) > _MOST_REPEATS for number in re.findall(r"\d+", times)):
        raise _beyond(f"it repeats nothing more than {_MOST_REPEATS} times")


def _name(prefix: str, name: str) -> str:
    return prefix + name.replace("_", "-")


def _regex(source: str) -> str:
    rules = Rules()
    try:
        root = spelled(rules, pattern(f"^(?:{source})$"))
    except GrammarError as error:
        raise _beyond(str(error)) from error
    if root is None:
        raise _beyond(f"nothing matches {source!r}")
    return rules.grammar(root)


def _beyond(reason: str) -> UnenforceableError:
    return UnenforceableError(f"llama.cpp's grammars (GBNF) cannot say this: {reason}")
