"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestPhi4MiniJson(FormatSuite):
    parser = "phi4_mini_json"
    cases = CASES / "phi4_mini_json"
    unchecked = frozenset({"functools[", "]", "<|tool_call|>~[", "]~<|/tool_call|>", "<|tool_call|>", "<|/tool_call|>"})
