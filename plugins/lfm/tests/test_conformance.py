"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestLfm2(FormatSuite):
    parser = "lfm2"
    cases = Path(__file__).parent / "cases" / "lfm2"
    unchecked = frozenset((",~]~<|tool_call_end|>",))  # a comma behind the last call, as Python allows
