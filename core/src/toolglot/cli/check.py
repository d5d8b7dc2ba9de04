"""``toolglot check``: test the laws of a format on a parser, and print one line per law."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolglot.cli.arguments import UsageError

if TYPE_CHECKING:
    from toolglot.cli.laws import Report, Result, Task

EPILOG = """\
examples:
  toolglot check hermes
  toolglot check hermes --cases plugins/hermes/tests/cases
  toolglot check ./toolglot-my-format
  toolglot check actions.py --law L1 --law L3
"""


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "check",
        help="test the laws of a format on a parser",
        description="Test the laws of a format on a parser.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "target", metavar="TARGET", nargs="?", help="an installed parser, the folder of a package, or a plugin file"
    )
    parser.add_argument("--cases", metavar="DIR", help="the folder of the parser's case files")
    parser.add_argument(
        "--law", metavar="LAW", action="append", default=[], help="only this: L0 to L7, commit, truncation"
    )
    parser.set_defaults(run=run, parser=parser)


def run(arguments: Namespace) -> int:
    from toolglot.cli.check_target import task_of
    from toolglot.cli.laws import Task

    if not all(map(importlib.util.find_spec, ("pytest", "hypothesis"))):
        raise UsageError('check needs pytest and hypothesis; try: pip install "toolglot[testing]"')
    if arguments.target is None:
        raise UsageError("TARGET is missing: an installed parser, the folder of a package, or a plugin file")
    with tempfile.TemporaryDirectory(prefix="toolglot-check-") as folder:
        task = task_of(arguments.target, arguments.cases, Task(folder, _chosen(arguments.law)))
        parsers, results = _collected(task)
    for parser in parsers:
        print(f"{parser}, from {_source(parser, arguments.target, task)}")
        _print_laws(task.laws, [result for result in results if result.parser == parser])
    made = [parser for parser in parsers if not any(parser in group for group in task.groups)]
    for group in task.groups:
        tested = next((name for name in group if name in parsers), None)
        for name in set(group) - set(parsers):
            same = "the same parser as" if tested else "needs a checkpoint; tested are formats that it makes:"
            print(f"{name}: {same} {tested or ', '.join(made)}")
    return int(any(result.outcome == "failed" for result in results))


def _chosen(words: Sequence[str]) -> tuple[str, ...]:
    from toolglot.cli.laws import LAWS

    unknown = set(words) - set(LAWS)
    if unknown:
        raise UsageError(f"--law {min(unknown)}: no such law; one of: {', '.join(LAWS)}")
    return tuple(law for law in LAWS if law in words or not words)


def _source(parser: str, target: str, task: Task) -> str:
    from toolglot import plugins

    if task.files:
        return target
    return next(f"{found.distribution} {found.version}" for found in plugins.installed() if found.name == parser)


def _collected(task: Task) -> tuple[tuple[str, ...], list[Result]]:
    """The parsers that were tested, and what became of the tests. Raises UsageError when they cannot be run."""
    from toolglot.cli.laws import Refused, Started

    parsers: tuple[str, ...] = ()
    total, results = 0, []
    try:
        for report in _reports(task):
            if isinstance(report, Refused):
                raise UsageError(report.reason)
            if isinstance(report, Started):
                parsers, total = report.parsers, report.total
            else:
                results.append(report)
                _show_progress(f"{len(results)} of {total} tests: {report.test}")
    finally:
        _show_progress("")
    return parsers, results


def _reports(task: Task) -> Iterator[Report]:
    """Run the tests in a process of their own: what a plugin imports or breaks stays there."""
    import msgspec

    from toolglot.cli.laws import Report

    log = Path(task.folder) / "log"
    env = os.environ | {"HYPOTHESIS_STORAGE_DIRECTORY": task.folder, "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-P", "-m", "toolglot.cli.check_run"]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=env) as process,  # noqa: S603  # ourselves
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(task))
        process.stdin.close()
        for line in process.stdout:
            yield msgspec.json.decode(line, type=Report)
    if process.returncode:
        said = log.read_text("utf-8", "replace").strip().splitlines() or [f"exit code {process.returncode}"]
        raise UsageError(f"the tests ended early: {said[-1]}")


def _show_progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text[:78]}", end="", file=sys.stderr, flush=True)


def _print_laws(laws: Sequence[str], results: Sequence[Result]) -> None:
    from toolglot.cli.laws import LAWS

    width = max(map(len, LAWS.values()))
    for law in laws:
        print(f"{LAWS[law].ljust(width)}  {_verdict([result for result in results if law in result.laws])}")


def _verdict(results: Sequence[Result]) -> str:
    """What became of one law: the worst of its tests says it."""
    for result in results:
        if result.outcome == "failed":
            return f"FAILED: {result.message} ({result.test})"
    for result in results:
        if result.outcome == "waived":
            return f"waived: {result.message}"
    held = [result for result in results if result.outcome == "held"]
    if held:
        tests = "1 test" if len(held) == 1 else f"{len(held)} tests"
        return f"held ({tests}, {sum(result.seconds for result in held):.1f} s)"
    return f"not run: {results[0].message if results else 'no cases (--cases DIR)'}"
