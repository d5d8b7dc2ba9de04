"""The formats keep the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"
TURN_ENDS = frozenset(("<|eom_id|>", "<|eot_id|>", "<|eot|>"))  # tokens that the templates write behind the turn
COMMAS = frozenset((",~]", ",~]<|python_end|>"))  # behind the last call, as Python allows


class TestLlama3Json(FormatSuite):
    parser = "llama3_json"
    cases = CASES / "llama3_json"
    unchecked = TURN_ENDS | {"<|python_tag|>"}


class TestLlama4Json(FormatSuite):
    parser = "llama4_json"
    cases = CASES / "llama4_json"
    unchecked = TURN_ENDS | {"<|python_tag|>"}


class TestLlama4Pythonic(FormatSuite):
    parser = "llama4_pythonic"
    cases = CASES / "llama4_pythonic"
    unchecked = TURN_ENDS | {"<|python_start|>[", "]<|python_end|>"} | COMMAS
