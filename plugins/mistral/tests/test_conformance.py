"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestMistral(FormatSuite):
    parser = "mistral"
    cases = Path(__file__).parent / "cases" / "mistral"
    unchecked = frozenset(("<think>", "</think>"))  # of v11; the templates at hand write [THINK]
