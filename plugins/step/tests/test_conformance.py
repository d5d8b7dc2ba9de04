"""The formats keep the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestStep3(FormatSuite):
    parser = "step3"
    cases = CASES / "step3"
    unchecked = frozenset(  # no template or tokenizer of Step-3 could be read
        (
            "<｜tool_calls_begin｜>",
            "<｜tool_call_begin｜>~function<｜tool_sep｜><steptml:invoke name=",
            "<steptml:parameter name=",
            ">",
            "</steptml:parameter>",
            "</steptml:invoke>~<｜tool_call_end｜>",
            "<｜tool_calls_end｜>",
            "<think>",
            "</think>",
        )
    )


class TestStep3p5(FormatSuite):
    parser = "step3p5"
    cases = CASES / "step3p5"
