"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestXlam(FormatSuite):
    parser = "xlam"
    cases = CASES / "xlam"
    unchecked = frozenset(
        {"<think>", "</think>", "<tool_call>~[", "]~</tool_call>", "[TOOL_CALLS]~[", "```json\n[", "]\n```"}
    )
