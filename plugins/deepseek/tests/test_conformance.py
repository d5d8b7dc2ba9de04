"""The formats keep the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestDeepseekV3(FormatSuite):
    parser = "deepseek_v3"
    cases = CASES / "deepseek_v3"
    unchecked = frozenset({"<think>", "</think>"})  # R1's template drops the reasoning of earlier turns


class TestDeepseekV31(FormatSuite):
    parser = "deepseek_v31"
    cases = CASES / "deepseek_v31"
    unchecked = frozenset({"function<｜tool▁sep｜>", "```json", "```<｜tool▁call▁end｜>"})  # V3's, see there


class TestDeepseekV32(FormatSuite):
    parser = "deepseek_v32"
    cases = CASES / "deepseek_v32"


class TestDeepseekV4(FormatSuite):
    parser = "deepseek_v4"
    cases = CASES / "deepseek_v4"
    unchecked = frozenset(
        f"<{end}｜DSML｜{name}>" for end in ("", "/") for name in ("toolcalls", "tool")
    )  # from reports


class TestDeepseekV41(FormatSuite):
    parser = "deepseek_v41"
    cases = CASES / "deepseek_v41"
    unchecked = frozenset({"<think>"})  # the prompt writes it
