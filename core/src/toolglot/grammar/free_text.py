"""Keep the tokens that a tag names by id out of its free text.

XGrammar lets every token through in free text that has exclusions or triggers. An excluded string also excludes a
token whose bytes hold it, and an added token's bytes hold its name: so the names are excluded too. ``AnyText()`` alone
needs no help: it is valid UTF-8, which no added token's bytes are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from toolglot.formats.ebnf import text as ebnf_text
from toolglot.structural_tag import AnyText, Grammar, Tag, Token, TokenTriggeredTags, TriggeredTags

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|Token\((\d+)\)')
"""Texts and classes of characters, which may hold anything; and a token by its id."""
_FREE = re.compile(r"^\w+ ::= TagDispatch\(loop_after_dispatch=false, excludes=\(", re.MULTILINE)
"""Free text that has exclusions."""


def named_tokens(value: Any) -> Iterator[int]:
    """The ids of the tokens that a format admits by id."""
    if isinstance(value, Token):
        yield value.token
    if isinstance(value, Grammar):
        yield from (int(found[1]) for found in _TOKEN.finditer(value.grammar) if found[1])
    for part in _parts(value):
        yield from named_tokens(part)


def without_tokens(value: Any, names: Mapping[int, str]) -> Any:
    """The format with these tokens (names by id) excluded from all of its free text, where they are no triggers."""
    match value:
        case AnyText(excludes) if excludes:
            return replace(value, excludes=_more(excludes, names))
        case Tag(
            content=AnyText(excludes), end=str() | tuple()
        ):  # XGrammar excludes the end, even where nothing else is
            return replace(value, content=replace(value.content, excludes=_more(excludes, names)))
        case Grammar(grammar):
            more = "".join(f"{ebnf_text(name)}, " for name in names.values())
            return replace(value, grammar=_FREE.sub(lambda free: free[0] + more, grammar))
        case TriggeredTags(triggers, tags, excludes=excludes):
            others = {token: name for token, name in names.items() if name not in triggers}
            return replace(value, tags=without_tokens(tags, names), excludes=_more(excludes, others))
        case TokenTriggeredTags(triggers, tags, excludes):
            others = {token: name for token, name in names.items() if token not in triggers}
            return replace(value, tags=without_tokens(tags, names), exclude_tokens=tuple({*excludes, *others}))
        case Struct():
            return replace(value, **{key: without_tokens(part, names) for key, part in asdict(value).items()})
        case tuple():
            return tuple(without_tokens(part, names) for part in value)
        case _:
            return value


def _parts(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Struct):
        return tuple(asdict(value).values())
    return value if isinstance(value, tuple) else ()


def _more(excludes: tuple[str, ...], names: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*excludes, *names.values())))
