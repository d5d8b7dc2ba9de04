"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestPoolsideV1(FormatSuite):
    parser = "poolside_v1"
    cases = CASES / "poolside_v1"
