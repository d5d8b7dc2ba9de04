"""The results of a run, as pytest-benchmark writes them."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct


class Cpu(Struct):
    """The processor."""

    count: int


class Machine(Struct):
    """Where the run was made."""

    cpu: Cpu
    machine: str
    python_implementation: str
    python_version: str


class Vllm(Struct):
    """What vLLM's parser of the same name took; ``same``: it found the same call; ``error``: how it failed."""

    version: str
    seconds: float
    same: bool
    error: str


class Info(Struct):
    """What was read. ``length`` is in tokens, of a flood in characters; ``peak`` in bytes."""

    parser: str
    length: int
    tokens: int = 0
    peak: int = 0
    flood: str = ""
    vllm: Vllm | None = None


class Stats(Struct):
    """Seconds of processor time for one output."""

    median: float


class Benchmark(Struct):
    """One output, read by one parser."""

    name: str
    stats: Stats
    extra_info: Info

    @property
    def micros(self) -> float:
        """Microseconds for a token."""
        return self.stats.median / self.extra_info.tokens * 1e6

    @property
    def nanos(self) -> float:
        """Nanoseconds for a character of a flood."""
        return self.stats.median / self.extra_info.length * 1e9


class Report(Struct):
    """A run."""

    machine_info: Machine
    benchmarks: list[Benchmark]

    def of(self, name: str) -> dict[str, list[Benchmark]]:
        """The results of one benchmark by parser, the shortest outputs first."""
        found: dict[str, list[Benchmark]] = {}
        ordered = sorted(self.benchmarks, key=lambda one: (one.extra_info.parser, one.extra_info.length))
        for one in ordered:
            if one.name.partition("[")[0] == name:
                found.setdefault(one.extra_info.parser, []).append(one)
        return found


def report(path: Path) -> Report:
    """Read a file that pytest-benchmark wrote.

    Raises:
        msgspec.ValidationError: it is not the file of a run of these benchmarks.
    """
    return msgspec.json.decode(path.read_bytes(), type=Report)
