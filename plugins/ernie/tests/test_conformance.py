"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestErnie45(FormatSuite):
    parser = "ernie45"
    cases = CASES / "ernie45"
    unchecked = frozenset({"<think>", "</think>", "<tool_call>", "</tool_call>", "<response>", "</response>"})
