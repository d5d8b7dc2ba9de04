"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestOlmo3(FormatSuite):
    parser = "olmo3"
    cases = Path(__file__).parent / "cases" / "olmo3"
    unchecked = frozenset(("<think>", "</think>"))  # of the Think models; the template at hand renders no reasoning
