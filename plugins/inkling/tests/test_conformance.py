"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestInkling(FormatSuite):
    parser = "inkling"
    cases = Path(__file__).parent / "cases" / "inkling"
