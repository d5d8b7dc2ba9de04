"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestMiniCpm5(FormatSuite):
    parser = "minicpm5"
    cases = CASES / "minicpm5"
