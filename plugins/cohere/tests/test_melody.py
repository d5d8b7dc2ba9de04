"""Cohere's own reader, cohere_melody, reads the same in what its models write."""

import json
from pathlib import Path

import pytest

from toolglot import load_parser
from toolglot.testing import load_cases

melody = pytest.importorskip("cohere_melody")
CASES = Path(__file__).parent / "cases"
GENERATIONS = {"cohere_command3": "cmd3", "cohere_command4": "cmd4"}
WRITTEN = [
    pytest.param(name, case, id=f"{name}-{case.id}")
    for name in GENERATIONS
    for case in load_cases(CASES / name)
    if case.origin == "template" and not case.reasoning_open
]


@pytest.mark.parametrize(("name", "case"), WRITTEN)
def test_both_read_the_same(name, case):
    message = load_parser(name).read(case.output, case.request)
    got = getattr(melody.PyFilter, GENERATIONS[name])().process_full_text(case.raw_output)

    assert (got.content or "").strip() == (message.content or "")
    assert (got.reasoning or "").strip() == (message.reasoning or "")
    assert [(call.id, call.name) for call in got.tool_calls] == [(call.id, call.name) for call in message.tool_calls]
    theirs = [json.loads(call.arguments or "{}") for call in got.tool_calls]  # it says nothing for no arguments
    ours = [json.loads(call.arguments) for call in message.tool_calls]
    assert theirs == ours
