"""What ``nox -s bench-engine`` makes of the times that it takes."""

from __future__ import annotations

from argparse import Namespace

import pytest

pytest.importorskip("torch")
from benchmarks import engine_speed
from benchmarks.engine_speed import Clocked, measures, table

ASKED = Namespace(prompt=100, tool_prompt=1000, tokens=10, batches=[1, 8])


class Engine:
    """Takes 10 ms for a token of a prompt that it has not seen, and 100 ms for a token of every output."""

    name = "made up"

    def __init__(self) -> None:
        self.now = 0.0
        self._seen = set()

    def run(self, prompts, tokens: int) -> None:
        new = {tuple(prompt) for prompt in prompts} - self._seen
        self._seen |= new
        self.now += 0.01 * sum(map(len, new)) + 0.1 * tokens

    def close(self) -> None:
        pass


@pytest.fixture
def engine(monkeypatch) -> Engine:
    engine = Engine()
    monkeypatch.setattr(engine_speed.time, "perf_counter", lambda: engine.now)
    return engine


def test_speeds_and_times_are_what_they_are_called(engine):
    assert dict(measures(engine, ASKED)) == pytest.approx(
        {
            "prefill, tok/s": 100 / 1.1,
            "decode at 1, tok/s": 10,
            "decode at 8, tok/s": 80,
            "tools, first token, s": 10.1,
            "tools again, s": 0.1,
        }
    )


def test_the_table_tells_how_many_times_as_fast_each_is():
    lines = table(
        {
            "first": [("decode at 1, tok/s", 10.0), ("tools again, s", 2.0), ("grammar, % of time", 1.0)],
            "other": [("decode at 1, tok/s", 25.0), ("tools again, s", 0.5)],
        }
    )

    assert list(lines)[2:] == ["| first | 10 (1) | 2 (1) | 1 |", "| other | 25 (2.5) | 0.5 (4) | – |"]


def test_a_grammars_time_is_that_of_its_matcher(engine):
    class Matcher:
        finished = False

        def mask(self, logits: str) -> str:
            engine.now += 2
            return logits

    class Constraint:
        def matcher(self) -> Matcher:
            return Matcher()

    constraint = Clocked(Constraint())

    matcher = constraint.matcher()

    assert (matcher.mask("logits"), matcher.finished) == ("logits", False)
    assert sum(constraint.spent) == 2
