"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestKimiK2(FormatSuite):
    parser = "kimi_k2"
    cases = Path(__file__).parent / "cases" / "kimi_k2"
