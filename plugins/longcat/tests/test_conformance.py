"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestLongcat(FormatSuite):
    parser = "longcat"
    cases = CASES / "longcat"
    unchecked = frozenset(
        {
            "<longcat_think>",
            "</longcat_think>",
            "<longcat_tool_call>",
            "</longcat_tool_call>",
            "<longcat_arg_key>",
            "</longcat_arg_key>\n<longcat_arg_value>",
            "</longcat_arg_value>",
        }
    )
