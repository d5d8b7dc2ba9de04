"""The formats keep the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestCommand3(FormatSuite):
    parser = "cohere_command3"
    cases = CASES / "cohere_command3"
    unchecked = frozenset(("<|START_TEXT|>", "<|END_TEXT|>"))  # of cohere_command4's models


class TestCommand4(FormatSuite):
    parser = "cohere_command4"
    cases = CASES / "cohere_command4"
    unchecked = frozenset(("<|START_RESPONSE|>", "<|END_RESPONSE|>"))  # of cohere_command3's models
