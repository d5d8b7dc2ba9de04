"""The formats keep the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestKimiK2(FormatSuite):
    parser = "kimi_k2"
    cases = CASES / "kimi_k2"


class TestKimiK3(FormatSuite):
    parser = "kimi_k3"
    cases = CASES / "kimi_k3"
