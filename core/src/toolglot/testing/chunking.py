"""Cutting an output into deltas. A marker token is never cut."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random

from toolglot.events import Finish
from toolglot.requests import Delta, Output

EVERYWHERE = 2000
"""Up to this length a text that matters is cut in two at every place."""
_SAMPLE = 40
"""At how many places other texts are cut in two."""
_WORDS = re.compile(r"\s*\S{1,6}|\s+")
_OTHER = 0
"""The id of every token that is no marker, where text comes with tokens."""


def with_tokens(
    text: str, tokens: Mapping[str, int], *, spelled: Sequence[int] = (), finish: Finish = "stop"
) -> Output:
    """``text`` with each marker that is a token as that token, but for those whose numbers are in ``spelled``."""
    pattern = re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))))
    found = [(match.start(), tokens[match[0]]) for match in pattern.finditer(text)] if tokens else []
    marks = tuple(mark for number, mark in enumerate(found) if number not in spelled)
    return Output(text, (_OTHER, *(number for _, number in marks)), marks, finish)


def cuts(output: Output, tokens: Mapping[str, int]) -> list[int]:
    """The places at which ``output`` can be cut, without its ends."""
    texts = {number: text for text, number in tokens.items()}
    inside = {at + step for at, number in output.marks for step in range(1, len(texts[number]))}
    return [at for at in range(1, len(output.text)) if at not in inside]


def deltas(output: Output, places: Iterable[int]) -> Iterator[Delta]:
    """``output`` cut at ``places`` (ascending), without its end."""
    start = 0
    for end in (*places, len(output.text)):
        marks = tuple((at - start, number) for at, number in output.marks if start <= at < end)
        ids = (_OTHER, *(number for _, number in marks)) if output.token_ids else ()
        yield Delta(output.text[start:end], ids, marks)
        start = end


def whole(output: Output) -> Delta:
    """``output`` as one delta, without its end."""
    return next(deltas(output, ()))


def two_way(places: Sequence[int], random: Random, most: int) -> Iterator[list[int]]:
    """Every cut in two, or a sample where there are more than ``most``."""
    chosen = places if len(places) <= max(most, _SAMPLE) else random.sample(places, _SAMPLE)
    return ([place] for place in chosen)


def sized(places: Sequence[int], size: int) -> list[int]:
    """Pieces of ``size`` characters (a marker token counts as one)."""
    return list(places[size - 1 :: size])


def at_random(places: Sequence[int], random: Random) -> list[int]:
    """Pieces of random sizes."""
    return sorted(random.sample(places, random.randint(0, len(places))))


def words(text: str) -> list[int]:
    """Pieces as a tokenizer might cut them: whitespace and up to six characters."""
    return [match.end() for match in _WORDS.finditer(text)][:-1]


def of_chunks(chunks: Sequence[str]) -> list[int]:
    """The places at which ``chunks`` were cut."""
    ends, at = [], 0
    for chunk in chunks[:-1]:
        at += len(chunk)
        ends.append(at)
    return ends


def every(places: Sequence[int], random: Random, most: int) -> Iterator[list[int]]:
    """Each kind: all at once, every fixed size from 1 to 7, random sizes, and cuts in two (see :func:`two_way`)."""
    yield []
    for size in range(1, 8):
        yield sized(places, size)
    for _ in range(4):
        yield at_random(places, random)
    yield from two_way(places, random, most)
