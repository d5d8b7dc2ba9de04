"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestMistral(FormatSuite):
    parser = "mistral"  # without a tokenizer it is mistral_v11
    cases = Path(__file__).parent / "cases" / "mistral"
    unchecked = frozenset(("<think>", "</think>"))  # of v11; the templates at hand write [THINK]


class TestMistralV3(FormatSuite):
    parser = "mistral_v3"
    cases = TestMistral.cases
    unchecked = TestMistral.unchecked


class TestMistralV11(TestMistral):
    parser = "mistral_v11"
