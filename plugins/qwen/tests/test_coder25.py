"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestQwen25Coder(FormatSuite):
    parser = "qwen25_coder"
    cases = Path(__file__).parent / "cases" / "qwen25_coder"
    unchecked = frozenset({"<tools>", "</tools>", "```json", "```"})  # in no template: users report them
