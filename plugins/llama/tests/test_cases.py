"""The formats read what their models write, in every split."""

from pathlib import Path

from toolglot.testing.laws.anchored import Anchored

CASES = Path(__file__).parent / "cases"
TURN_ENDS = frozenset(("<|eom_id|>", "<|eot_id|>", "<|eot|>"))  # tokens that the templates write behind the turn


class TestLlama3Json(Anchored):
    parser = "llama3_json"
    cases = CASES / "llama3_json"
    unchecked = TURN_ENDS | {"<|python_tag|>"}


class TestLlama4Json(Anchored):
    parser = "llama4_json"
    cases = CASES / "llama4_json"
    unchecked = TURN_ENDS | {"<|python_tag|>"}


class TestLlama4Pythonic(Anchored):
    parser = "llama4_pythonic"
    cases = CASES / "llama4_pythonic"
    unchecked = TURN_ENDS | {"<|python_start|>[", "]<|python_end|>"}
