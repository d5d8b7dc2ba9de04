"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestJamba(FormatSuite):
    parser = "jamba"
    cases = CASES / "jamba"
