"""The formats keep the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestFunctionGemma(FormatSuite):
    parser = "functiongemma"
    cases = CASES / "functiongemma"


class TestGemma4(FormatSuite):
    parser = "gemma4"
    cases = CASES / "gemma4"
