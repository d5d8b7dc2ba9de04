"""Keep the tokens that a tag names out of its free text, also for engines that know them by their text.

The embedded engine's grammars spell added tokens in a way that is no text. Elsewhere they are what they spell, and free
text that excludes nothing would admit them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from toolglot.structural_tag import AnyText, StructuralTag


def without_markers(tag: StructuralTag, names: Mapping[int, str]) -> StructuralTag:
    """The tag with the texts of its tokens (of those in ``names``) excluded from free text that excluded nothing."""
    from toolglot.grammar.free_text import named_tokens

    texts = tuple(names[token] for token in sorted(set(named_tokens(tag))) if token in names)
    return replace(tag, format=_excluding(tag.format, texts)) if texts else tag


def _excluding(value: Any, texts: tuple[str, ...]) -> Any:
    match value:
        case AnyText(()):
            return AnyText(texts)
        case Struct():
            return replace(value, **{key: _excluding(part, texts) for key, part in asdict(value).items()})
        case tuple():
            return tuple(_excluding(part, texts) for part in value)
    return value
