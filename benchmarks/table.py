"""Writes the results of a run into docs/performance.md: ``python -m benchmarks.table RESULTS.json PAGE.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.report import Benchmark, Report, report


def main(results: str, page: str) -> None:
    """Write the tables of ``results`` into their places on the page.

    What a run did not measure stays as it is: each place says what made it.

    Raises:
        ValueError: the page lacks a place.
    """
    text = Path(page).read_text()
    for place, tables in written(report(Path(results))).items():
        marks = f"<!-- {place} -->", f"<!-- end of {place} -->"
        before, opened, rest = text.partition(marks[0])
        _, closed, after = rest.partition(marks[1])
        if not (opened and closed):
            raise ValueError(f"{page} has no place for {place}: `{marks[0]}` and `{marks[1]}`")
        text = f"{before}{marks[0]}\n\n{tables}\n\n{marks[1]}{after}"
    Path(page).write_text(text)


def written(run: Report) -> dict[str, str]:
    """The tables of each place, with what made them."""
    calls, prose, floods = (run.of(f"test_{name}") for name in ("a_call", "prose", "a_flood"))
    beside = {name: found for name, found in calls.items() if all(one.extra_info.vllm for one in found)}
    tables = {
        "calls and prose": _reading(calls, prose) if calls and prose else "",
        "vllm": _vllm(beside) if beside else "",
        "floods": _floods(floods) if floods else "",
    }
    return {place: f"{_made(run)}\n\n{table}" for place, table in tables.items() if table}


def _made(run: Report) -> str:
    """The command, and the machine in plain words."""
    machine = run.machine_info
    versions = sorted({one.extra_info.vllm.version for one in run.benchmarks if one.extra_info.vllm})
    command = "nox -s bench -- --table" + (" --vllm-python PYTHON" if versions else "")
    python = f"{machine.python_implementation} {machine.python_version}"
    place = f"{machine.cpu.count} cores ({machine.machine}), {python}"
    return f"Made by `{command}` on {', '.join([place, *(f'vLLM {version}' for version in versions)])}."


def _reading(calls: dict[str, list[Benchmark]], prose: dict[str, list[Benchmark]]) -> str:
    """Microseconds and bytes for a token."""
    lengths = _lengths(calls)
    head = ["parser", *(f"µs at {length}" for length in lengths), f"{lengths[-1]} / {lengths[0]}"]
    head += [f"bytes at {length}" for length in lengths[1:]] + [f"prose, µs at {lengths[-1]}"]
    rows = []
    for parser, found in calls.items():
        times = [one.micros for one in found]
        bytes_each = [f"{one.extra_info.peak / one.extra_info.tokens:.0f}" for one in found[1:]]
        figures = [*times, times[-1] / times[0]]
        rows.append([f"`{parser}`", *map(_two, figures), *bytes_each, _two(prose[parser][-1].micros)])
    return _markdown(head, rows)


def _vllm(calls: dict[str, list[Benchmark]]) -> str:
    """Microseconds for a token in vLLM, and how many times toolglot's that is."""
    lengths = _lengths(calls)
    head = ["parser", *(f"vLLM, µs at {length}" for length in lengths)]
    head += [f"vLLM / toolglot at {length}" for length in lengths] + ["the same call"]
    rows = []
    for parser, found in calls.items():
        theirs = [(one, one.extra_info.vllm) for one in found if one.extra_info.vllm]
        times = [f"{other.seconds / one.extra_info.tokens * 1e6:.0f}" for one, other in theirs]
        ratios = [f"{other.seconds / one.stats.median:.0f}" for one, other in theirs]
        failed = next((other.error for _, other in theirs if other.error), "")
        same = "yes" if all(other.same for _, other in theirs) else "no"
        figures = ["-"] * 2 * len(lengths) if failed else [*times, *ratios]
        rows.append([f"`{parser}`", *figures, failed or same])
    return _markdown(head, rows)


def _floods(floods: dict[str, list[Benchmark]]) -> str:
    """The slowest flood of each parser, and the one whose time grows most with its length."""
    head = ["parser", "slowest flood", "ns a character", "grows most", "ns a character, 1 MiB / 256 KiB"]
    rows = []
    for parser, found in floods.items():
        slowest = max(found, key=lambda one: one.nanos)
        pairs = [(short, long) for short in found for long in found if _longer(long, short)]
        growth, steepest = max((long.nanos / short.nanos, short.extra_info.flood) for short, long in pairs)
        rows.append([f"`{parser}`", slowest.extra_info.flood, f"{slowest.nanos:.0f}", steepest, _two(growth)])
    return _markdown(head, rows)


def _longer(one: Benchmark, other: Benchmark) -> bool:
    same = one.extra_info.flood == other.extra_info.flood
    return same and one.extra_info.length > other.extra_info.length


def _lengths(calls: dict[str, list[Benchmark]]) -> list[int]:
    return sorted({one.extra_info.length for found in calls.values() for one in found})


def _two(figure: float) -> str:
    return f"{figure:.2f}"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
