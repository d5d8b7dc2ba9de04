"""The process in which ``toolglot check`` tests: it reads a task, and writes a JSON report a line. Run by ``check``."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pytest

from toolglot import load_parser, plugins
from toolglot.cli.arguments import UsageError
from toolglot.cli.laws import Outcome, Refused, Report, Result, Started, Task, laws_of
from toolglot.errors import PluginError, ToolglotError
from toolglot.formats import WireFormat

_MODULE = """\
from pathlib import Path
from toolglot.testing import FormatSuite

class TestFormat(FormatSuite):
    parser = {parser!r}
    cases = Path({cases!r})
"""
_LONGEST = 300  # characters of what a test says; outputs that are a megabyte long are quoted too


def main() -> None:
    """Test what the task on standard input says."""
    reports = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what pytest and plugins print is no report
    reporter = Reporter(msgspec.json.decode(sys.stdin.buffer.read(), type=Task), reports)
    try:
        reporter.run()
    except ToolglotError as error:
        reporter.send(Refused(str(error)))


class Reporter:
    """A pytest plugin that picks the tests of laws, and reports what becomes of them."""

    def __init__(self, task: Task, reports: BinaryIO) -> None:
        self._task = task
        self._folder = Path(task.folder).resolve()
        self._reports = reports
        self._groups: Sequence[Sequence[str]] = ()
        self._needy: dict[str, str] = {}
        """What parsers say that need a checkpoint."""
        self._seconds = 0.0
        self._verdict: tuple[Outcome, str] = ("held", "")

    def send(self, report: Report) -> None:
        self._reports.write(msgspec.json.encode(report) + b"\n")

    def run(self) -> None:
        """Load the parsers, write a suite for each, and run the suites. Raises PluginError, UsageError."""
        sys.path[:0] = self._task.path
        loaded = [name for file in self._task.files for name in plugins.load_file(file, replace=True)]
        self._groups = self._task.groups or [(name,) for name in loaded]
        made = [self._module(number, group[0]) for number, group in enumerate(self._groups)]
        modules = [*self._task.modules, *filter(None, made)]
        settings = self._folder / "pytest.ini"
        settings.write_text("[pytest]\n")
        options = ["-q", "-c", str(settings), "--import-mode=importlib", "-p", "no:cacheprovider"]
        code = pytest.main([*options, *modules], plugins=[self])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise UsageError("the tests cannot be run")

    def _module(self, number: int, name: str) -> str | None:
        """A suite for a parser; none for one that needs a checkpoint, if its package has suites of formats it makes."""
        plugins.load(name)  # what does not import is an error, suites or not
        try:
            parser = load_parser(name)
        except PluginError as error:
            if not self._task.modules:
                raise
            self._needy[name] = str(error)
            return None
        if not isinstance(getattr(parser.plugin, "form", None), WireFormat):
            raise UsageError(f"parser {name!r} declares no WireFormat, and the laws are those of a declaration")
        module = self._folder / f"test_parser_{number}.py"
        cases = self._cases(name) or str(self._folder)
        module.write_text(_MODULE.format(parser=name, cases=cases), "utf-8")
        return str(module)

    def _cases(self, name: str) -> str | None:
        return self._task.cases.get(name) or self._task.cases.get("")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """A parser with a suite of its own is tested by that one; cases are left out where there are none."""
        suites = [item for item in items if issubclass(_suite(item), _format_suite())]
        own = {_suite(item).parser for item in suites if not self._generated(item)}
        names = [name for group in self._groups for name in ([n for n in group if n in own] or group[:1])]
        if self._needy:  # the formats that they make are tested in their place
            made = sorted(own.difference(names))
            names = [name for name in names if name not in self._needy] + made
            if not made:
                self.send(Refused(next(iter(self._needy.values()))))
        items[:] = [item for item in suites if _suite(item).parser in names and self._wanted(item, own)]
        self.send(Started(tuple(names), len(items)))

    def _generated(self, item: pytest.Item) -> bool:
        return item.path.resolve().is_relative_to(self._folder)

    def _wanted(self, item: pytest.Item, own: set[str]) -> bool:
        laws = laws_of(_test(item))
        if not set(laws) & set(self._task.laws):
            return False
        name = _suite(item).parser
        needs_cases = "L0" in laws or "case" in getattr(item, "fixturenames", ())
        return not self._generated(item) or (name not in own and not (needs_cases and self._cases(name) is None))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "setup":
            self._seconds, self._verdict = 0.0, ("held", "")
        self._seconds += report.duration
        if not report.passed:
            self._verdict = _verdict(report, call)
        if report.when == "teardown":
            laws = tuple(law for law in laws_of(_test(item)) if law in self._task.laws)
            self.send(Result(_suite(item).parser, laws, item.name, *self._verdict, self._seconds))
        return report

    def pytest_exception_interact(self, call: pytest.CallInfo[Any], report: Any) -> None:
        """Tests that cannot be collected."""
        if isinstance(report, pytest.CollectReport) and call.excinfo is not None:
            error = call.excinfo.value
            lines = str(error).splitlines() if isinstance(error, pytest.Collector.CollectError) else []
            self.send(Refused(lines[-1].removeprefix("E").strip() if lines else _said(error)))


def _format_suite() -> type:
    from toolglot.testing import FormatSuite  # when pytest runs, so that it rewrites the assertions

    return FormatSuite


def _suite(item: pytest.Item) -> Any:
    return getattr(item, "cls", None) or object


def _test(item: pytest.Item) -> str:
    return str(getattr(item, "originalname", item.name))


def _verdict(report: pytest.TestReport, call: pytest.CallInfo[None]) -> tuple[Outcome, str]:
    if hasattr(report, "wasxfail"):
        return "waived", report.wasxfail
    if call.excinfo is None:  # a waiver that is strict, of a law that holds
        return "failed", str(report.longrepr)
    if report.skipped:
        return "not run", str(call.excinfo.value)
    return "failed", _said(call.excinfo.value)


def _said(error: BaseException) -> str:
    """The first line of what an error says; of several found at once, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    line = next(iter(str(error).splitlines()), "")
    line = line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
    return line if line and isinstance(error, AssertionError | ValueError) else f"{type(error).__name__}: {line}"


if __name__ == "__main__":
    main()
