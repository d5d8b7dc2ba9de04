"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestGeneric(FormatSuite):
    parser = "generic"
    cases = Path(__file__).parent / "cases" / "generic"
    unchecked = frozenset(  # there is no model of its own
        ("```json", "```", "[", "]", "<tool_call>", "</tool_call>", "<think>", "</think>")
    )
