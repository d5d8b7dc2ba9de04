"""What a model may write, as data: XGrammar's structural-tag formats as frozen Structs that serialise to its JSON.

Hooks can be imported and tags built without XGrammar. The field names and their meaning are XGrammar's (0.2.9).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct


class _Format(Struct, frozen=True, tag_field="type", omit_defaults=True):
    pass


class ConstString(_Format, frozen=True, tag="const_string"):
    """Exactly this text."""

    value: str


class JsonSchema(_Format, frozen=True, tag="json_schema"):
    """A JSON value that the schema admits, written in ``style``."""

    json_schema: Mapping[str, Any] | bool
    style: str = "json"
    any_order: bool = False
    max_whitespace_cnt: int | None = None
    excludes: tuple[str, ...] = ()


class Grammar(_Format, frozen=True, tag="grammar"):
    """Text of an EBNF (or Lark) grammar."""

    grammar: str
    syntax: str = "ebnf"


class Regex(_Format, frozen=True, tag="regex"):
    """Text that the whole pattern matches."""

    pattern: str


class AnyText(_Format, frozen=True, tag="any_text"):
    """Any text in which none of ``excludes`` occurs."""

    excludes: tuple[str, ...] = ()


class Token(_Format, frozen=True, tag="token"):
    """One token, by id."""

    token: int


class AnyTokens(_Format, frozen=True, tag="any_tokens"):
    """Any tokens but these."""

    exclude_tokens: tuple[int, ...] = ()


class Sequence(_Format, frozen=True, tag="sequence"):
    """One after the other."""

    elements: tuple[Format, ...]


class Or(_Format, frozen=True, tag="or"):
    """One of these."""

    elements: tuple[Format, ...]


class Optional(_Format, frozen=True, tag="optional"):
    """This, or nothing."""

    content: Format


class Repeat(_Format, frozen=True, tag="repeat"):
    """This, ``min`` to ``max`` times (``max`` -1: no limit)."""

    min: int
    max: int
    content: Format


class Tag(_Format, frozen=True, tag="tag"):
    """``begin``, then ``content``, then ``end``."""

    begin: str | Token
    content: Format
    end: str | tuple[str, ...] | Token


class TriggeredTags(_Format, frozen=True, tag="triggered_tags"):
    """Free text in which each of ``triggers`` forces one of ``tags``."""

    triggers: tuple[str, ...]
    tags: tuple[Tag, ...]
    at_least_one: bool = False
    stop_after_first: bool = False
    excludes: tuple[str, ...] = ()


class TokenTriggeredTags(_Format, frozen=True, tag="token_triggered_tags"):
    """Free tokens in which each of ``trigger_tokens`` forces one of ``tags``."""

    trigger_tokens: tuple[int, ...]
    tags: tuple[Tag, ...]
    exclude_tokens: tuple[int, ...] = ()
    at_least_one: bool = False
    stop_after_first: bool = False


class TagsWithSeparator(_Format, frozen=True, tag="tags_with_separator"):
    """Tags and nothing else, with ``separator`` between them."""

    tags: tuple[Tag, ...]
    separator: str
    at_least_one: bool = False
    stop_after_first: bool = False


Format: TypeAlias = (
    ConstString
    | JsonSchema
    | Grammar
    | Regex
    | AnyText
    | Token
    | AnyTokens
    | Sequence
    | Or
    | Optional
    | Repeat
    | Tag
    | TriggeredTags
    | TokenTriggeredTags
    | TagsWithSeparator
)


class StructuralTag(Struct, frozen=True, tag="structural_tag", tag_field="type"):
    """A whole output's grammar."""

    format: Format

    def to_json(self) -> str:
        """XGrammar's JSON for this tag."""
        return msgspec.json.encode(self).decode()
