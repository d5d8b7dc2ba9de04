"""The formats keep the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestMiniMaxM2(FormatSuite):
    parser = "minimax_m2"
    cases = CASES / "minimax_m2"


class TestMiniMaxM3(FormatSuite):
    parser = "minimax_m3"
    cases = CASES / "minimax_m3"
