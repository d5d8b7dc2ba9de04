"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestLing3(FormatSuite):
    parser = "ling3"
    cases = CASES / "ling3"
