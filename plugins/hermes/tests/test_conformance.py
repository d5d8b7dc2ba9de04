"""Hermes keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestHermes(FormatSuite):
    parser = "hermes"
    cases = Path(__file__).parent / "cases"
