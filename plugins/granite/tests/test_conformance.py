"""The formats keep the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestGranite(FormatSuite):
    parser = "granite"
    cases = CASES / "granite"
    unchecked = frozenset(
        {"<tool_call>~[", "<think>", "</think>", "<response>", "</response>"}
        | {f"Here{is_} my {what}:" for is_ in (" is", "'s") for what in ("thought process", "response")}
    )


class TestGranite4(FormatSuite):
    parser = "granite4"
    cases = CASES / "granite4"


class TestGranite20bFc(FormatSuite):
    parser = "granite-20b-fc"
    cases = CASES / "granite-20b-fc"
