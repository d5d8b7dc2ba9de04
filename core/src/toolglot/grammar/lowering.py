"""Rewrite a structural tag so that its free text is valid UTF-8 and holds no added token.

XGrammar's formats for free text with exclusions or triggers work on bytes and let both through; here they become text that
excludes strings (:mod:`toolglot.grammar.free_text`) around tags. The meaning of each format is kept otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from toolglot.grammar.free_text import free_text
from toolglot.structural_tag import (
    AnyText,
    AnyTokens,
    Format,
    Regex,
    Optional,
    Or,
    Repeat,
    Sequence,
    Tag,
    TagsWithSeparator,
    Token,
    TokenTriggeredTags,
    TriggeredTags,
)


def lower(fmt: Format, ends: tuple[str, ...] = ()) -> Format:
    """The format without free text that works on bytes; ``ends`` are strings that must not occur in it, as they end it."""
    match fmt:
        case AnyText(excludes):
            return _text((*excludes, *ends))
        case AnyTokens():
            return _text(ends)
        case TriggeredTags(triggers, tags, excludes=excludes):
            begins = tuple(tag.begin for tag in tags if isinstance(tag.begin, str))
            return _tags_in_text(fmt, _text((*triggers, *begins, *excludes, *ends)))
        case TokenTriggeredTags():
            return _tags_in_text(fmt, _text(ends))
        case _:
            return _lower_parts(fmt, ends)


def named_tokens(value: Any) -> Iterator[int]:
    """The ids of the tokens that a format admits by id."""
    if isinstance(value, Token):
        yield value.token
    elif isinstance(value, Struct | tuple):
        for part in astuple(value) if isinstance(value, Struct) else value:
            yield from named_tokens(part)


def _lower_parts(fmt: Format, ends: tuple[str, ...]) -> Format:
    match fmt:
        case Tag(begin, content, end):
            closers = (end,) if isinstance(end, str) else end if isinstance(end, tuple) else ()
            return Tag(begin, lower(content, closers), end)
        case TagsWithSeparator(tags):
            return replace(fmt, tags=tuple(_lower_parts(tag, ()) for tag in tags))
        case Sequence(elements):
            return Sequence((*(lower(element) for element in elements[:-1]), *(lower(last, ends) for last in elements[-1:])))
        case Or(elements):
            return Or(tuple(lower(element, ends) for element in elements))
        case Optional(content) | Repeat(content=content):
            return replace(fmt, content=lower(content, ends))
        case _:
            return fmt


def _text(excludes: tuple[str, ...]) -> Format:
    return Regex(free_text(excludes)) if excludes else AnyText()


def _tags_in_text(fmt: TriggeredTags | TokenTriggeredTags, text: Format) -> Format:
    tag = Or(tuple(lower(tag) for tag in fmt.tags))
    more = Sequence((Repeat(0, -1, Sequence((text, tag))), text))
    match fmt.at_least_one, fmt.stop_after_first:
        case True, True:
            return tag
        case True, False:
            return Sequence((tag, more))
        case False, True:
            return Sequence((text, Optional(tag)))
        case _:
            return more
