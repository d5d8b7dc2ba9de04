"""Cutting a whole output into the pieces in which a model could have written it."""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from typing import TypeAlias

from toolglot.portions import portions

Chunking: TypeAlias = Callable[[str], Iterator[str]]
LONGEST = 20  # characters; several times a token


def whole(text: str) -> Iterator[str]:
    """All at once."""
    yield text


def chunking(spec: str) -> Chunking:
    """Read ``N`` (pieces of N characters) or ``random:SEED`` (1 to 20 characters, the same for the same seed)."""
    kind, colon, seed = spec.partition(":")
    if kind == "random" and colon and seed.isdecimal():
        return lambda text: _random(text, int(seed))
    if spec.isdecimal() and int(spec) > 0:
        return lambda text: portions(text, int(spec))
    raise argparse.ArgumentTypeError(f"{spec!r} is neither a number of characters nor random:SEED")


def _random(text: str, seed: int) -> Iterator[str]:
    sizes = random.Random(seed)  # noqa: S311 - cuts a text, guards nothing
    start = 0
    while start < len(text):
        end = start + sizes.randint(1, LONGEST)
        yield text[start:end]
        start = end
