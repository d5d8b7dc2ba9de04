"""The questions: where they are from, and that a series is fixed."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from toolglot.bench import bfcl
from toolglot.bench.agents import tool_sets
from toolglot.bench.workload import workload
from toolglot.errors import ToolglotError


def test_bfcl_s_types_become_json_schema_s_and_names_openai_s(bfcl_data: Path) -> None:
    question = next(bfcl.questions(bfcl_data))
    (tool,) = question.tools

    assert tool.name == "spot_price"
    assert tool.parameters == {
        "type": "object",
        "properties": {"symbol": {"type": "string"}, "days": {"type": "number"}, "type": {}},
        "required": ["symbol"],
    }


def test_a_property_may_have_a_keyword_s_name() -> None:
    schema = {
        "type": "dict",
        "properties": {"properties": {"type": "float"}, "enum": {"type": "dict"}},
        "enum": [{"type": "float"}],
    }

    assert bfcl.json_schema(schema) == {
        "type": "object",
        "properties": {"properties": {"type": "number"}, "enum": {"type": "object"}},
        "enum": [{"type": "float"}],
    }


def test_functions_are_those_of_all_categories_and_questions_the_first_turns(bfcl_data: Path) -> None:
    names = [name for name, _ in bfcl.functions(bfcl_data)]
    questions = list(bfcl.questions(bfcl_data))

    assert (len(names), names[-1]) == (31, "math_api/0")
    assert len(questions) == 30
    assert [message["content"] for message in questions[0].messages] == ["What does a share cost?"]


def test_bfcl_that_is_not_installed_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bfcl, "_PACKAGE", "no_such_package")

    with pytest.raises(ToolglotError, match="pip install --no-deps bfcl-eval"):
        bfcl.folder()


def test_a_series_is_fixed_and_a_longer_one_begins_with_it(bfcl_data: Path) -> None:
    found = workload(bfcl_data, 20, seed=3)

    assert found == workload(bfcl_data, 39, seed=3)[:20]
    assert found != workload(bfcl_data, 20, seed=4)
    assert len({question.id for question in found}) == 20
    assert sum(not question.id.startswith("simple") for question in found) == 5


def test_a_series_ends_with_bfcl_s_questions(bfcl_data: Path) -> None:
    assert len(workload(bfcl_data, 1000, seed=0)) == 39


def test_long_questions_can_be_left_out(bfcl_data: Path) -> None:
    assert workload(bfcl_data, 10, seed=0, longest=100) == []
    found = workload(bfcl_data, 40, seed=0, longest=400)
    assert found
    assert all(len(str(question.tools)) < 450 for question in found)


@pytest.mark.parametrize("name", tool_sets())
def test_agents_schemas_are_schemas_and_their_names_differ(name: str) -> None:
    found = tool_sets()[name]

    assert found.questions
    assert len({tool.name for tool in found.tools}) == len(found.tools)
    for tool in found.tools:
        validator = Draft7Validator if "$schema" in tool.parameters else Draft202012Validator
        validator.check_schema(tool.parameters)
