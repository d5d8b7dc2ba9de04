"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestPythonic(FormatSuite):
    parser = "pythonic"
    cases = Path(__file__).parent / "cases" / "pythonic"
    unchecked = frozenset((",~]",))  # a comma behind the last call, as Python allows
