"""What ``nox -s bench-engine`` makes of the times that it takes."""

from __future__ import annotations

from argparse import Namespace

import pytest

pytest.importorskip("torch")
from benchmarks import engine_speed
from benchmarks.engine_speed import Clocked, fastest, measures, passed, processor_time, table

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
    columns = dict(measures([engine], ASKED, passed))

    assert {title: column["made up"] for title, column in columns.items()} == pytest.approx(
        {
            "prefill, tok/s": 100 / 1.1,
            "decode at 1, tok/s": 10,
            "decode at 8, tok/s": 80,
            "tools, first token, s": 10.1,
            "tools again, s": 0.1,
        }
    )


def test_engines_take_turns_and_the_shortest_time_of_each_counts(engine):
    class Slow(Engine):
        name = "slow at first"

        def run(self, prompts, tokens: int) -> None:
            order.append(self.name)
            engine.now += next(delays)

    order, delays = [], iter([3.0, 1.0, 2.0])
    fast = Engine.run
    engine.run = lambda *asked: (order.append(engine.name), fast(engine, *asked))

    assert fastest([engine, Slow()], 1, 100, 1, passed) == pytest.approx({"made up": 1.1, "slow at first": 1.0})
    assert order == ["made up", "slow at first"] * 3


def test_processor_time_is_the_engines_own(engine):
    engine.processor_time = lambda: engine.now / 4

    assert fastest([engine], 1, 100, 10, processor_time) == pytest.approx({"made up": 0.5})


def test_the_table_tells_how_many_times_as_fast_each_is():
    lines = table(
        ["first", "other"],
        {
            "decode at 1, tok/s": {"first": 10.0, "other": 25.0},
            "tools again, s": {"first": 2.0, "other": 0.5},
            "grammar, % of time": {"first": 1.0},
        },
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
