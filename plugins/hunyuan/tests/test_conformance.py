"""The formats keep the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"
BARE = ("<think>", "</think>", "<tool_calls>", "</tool_calls>", "<tool_call>", "<arg_key>")


class TestHunyuanA13B(FormatSuite):
    parser = "hunyuan_a13b"
    cases = CASES / "hunyuan_a13b"
    unchecked = frozenset({"<think>", "</think>", "<answer>", "</answer>"})


class TestHyV3(FormatSuite):
    parser = "hy_v3"
    cases = CASES / "hy_v3"
    unchecked = frozenset({*BARE, "<tool_sep>", "</arg_key>\n<arg_value>"})  # of checkpoints without a suffix


class TestHyV4(FormatSuite):
    parser = "hy_v4"
    cases = CASES / "hy_v4"
    unchecked = frozenset(
        marker.replace(">", f"{suffix}>")
        for marker in (*BARE, "</tool_call>", "</arg_key>~<arg_value>", "</arg_value>")
        for suffix in ("", ":opensource")
    )
