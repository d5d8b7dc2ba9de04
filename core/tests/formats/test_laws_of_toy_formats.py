"""The parts of the vocabulary that no installed family may use are under the laws too."""

from __future__ import annotations

from pathlib import Path

from toolglot.plugins import load_file
from toolglot.testing import FormatSuite

FOLDER = Path(__file__).parents[1] / "testing"
load_file(FOLDER / "toy_parsers.py", replace=True)


class TestArray(FormatSuite):
    parser = "toy_array"
    cases = FOLDER / "cases" / parser
    unchecked = frozenset(
        {"<calls>~[", "[CALLS]~[", "]~</calls>", "]", "<call>", "</call>", "<think>", "</think>", "</s>"}
    )


class TestNested(FormatSuite):
    parser = "toy_nested"
    cases = FOLDER / "cases" / parser
    unchecked = frozenset({"<|all|>", "<|/all|>", "<|one|>", "<|/one|>", "<|think|>", "<|/think|>"})


class TestChain(FormatSuite):
    parser = "toy_chain"
    cases = FOLDER / "cases" / parser
    unchecked = frozenset({"<|tag|>"})
