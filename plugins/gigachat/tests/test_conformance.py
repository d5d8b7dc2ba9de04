"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestGigachat3(FormatSuite):
    parser = "gigachat3"
    cases = CASES / "gigachat3"
    unchecked = frozenset({"</s>"})
