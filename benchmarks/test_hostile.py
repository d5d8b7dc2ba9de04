"""A megabyte of what nobody should write."""

from __future__ import annotations

from functools import partial

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import outputs
from toolglot import Parser

MEGABYTE = 1 << 20


@pytest.mark.parametrize("characters", [MEGABYTE // 4, MEGABYTE])
@pytest.mark.parametrize("place", outputs.PLACES)
@pytest.mark.parametrize("unit", outputs.UNITS)
def test_a_flood(parser: Parser, unit: str, place: str, characters: int, benchmark: BenchmarkFixture) -> None:
    deltas = outputs.flood(parser, unit, place, characters)
    benchmark.group = f"{unit} {place}, {characters} characters"
    benchmark.extra_info |= {"parser": parser.name, "flood": f"{unit} {place}", "length": characters}

    benchmark.pedantic(partial(outputs.read, parser, deltas))
