"""What alternatives begin with, written once.

A mask is made for each alternative that may still be meant: while a model writes what the calls of a hundred tools
begin with alike, that is a hundred masks a token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from toolglot.structural_tag import ConstString, Format, Optional, Or
from toolglot.structural_tag import Sequence as Series


def merged(value: Any) -> Any:
    """The format with every text that several alternatives of an ``Or`` begin with written once."""
    match value:
        case Or(elements):
            return _either([merged(one) for one in elements])
        case Struct():
            return replace(value, **{key: merged(part) for key, part in asdict(value).items()})
        case tuple():
            return tuple(merged(part) for part in value)
        case _:
            return value


def _either(options: Sequence[Format]) -> Format:
    groups: dict[str | int, list[Format]] = {}
    for option in options:
        groups.setdefault(_text(option)[:1] or id(option), []).append(option)
    return _or([_group(members) for members in groups.values()])


def _group(options: list[Format]) -> Format:
    """One format for options that begin with the same character."""
    if len(options) == 1:
        return options[0]
    shared = _shared([_text(option) for option in options])
    rests = [_without(option, len(shared)) for option in options]
    more = [_series(rest) for rest in rests if rest]
    if not more:
        return ConstString(shared)
    behind = _either(more)
    return Series((ConstString(shared), behind if all(rests) else Optional(behind)))


def _shared(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    first, last = min(texts), max(texts)
    differences = (at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1])
    return first[: next(differences, len(first))]


def _text(option: Format) -> str:
    """The text that an option begins with; none where it begins otherwise."""
    first = next(_elements(option))
    return first.value if isinstance(first, ConstString) else ""


def _without(option: Format, length: int) -> tuple[Format, ...]:
    """What is behind the first characters of an option."""
    first, *others = _elements(option)
    assert isinstance(first, ConstString)
    rest = first.value[length:]
    return (ConstString(rest), *others) if rest else tuple(others)


def _elements(option: Format) -> Iterator[Format]:
    return iter(option.elements if isinstance(option, Series) else (option,))


def _series(elements: tuple[Format, ...]) -> Format:
    return elements[0] if len(elements) == 1 else Series(elements)


def _or(options: list[Format]) -> Format:
    return options[0] if len(options) == 1 else Or(tuple(options))
