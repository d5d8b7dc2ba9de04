"""Schemas within all limits that nevertheless take long."""

from __future__ import annotations

import time
from typing import Any

import pytest

import toolglot
from toolglot.errors import GrammarError
from toolglot.formats.json_grammar import json_value
from toolglot.schemas import normalise
from toolglot.schemas.deadline import check, deadline

SLOW: dict[str, dict[str, Any]] = {
    "patterns": {"properties": {f"p{at}": {"pattern": f"a.{{{at % 13}}}b|c{at}"} for at in range(500)}},
    "numbers": {
        "properties": {
            f"p{at}": {"type": "number", "minimum": -123456.789 - at, "maximum": 987654.321 + at} for at in range(1000)
        }
    },
}


@pytest.mark.parametrize("schema", SLOW.values(), ids=SLOW)
def test_writing_a_grammar_ends_at_its_deadline(schema: Any) -> None:
    start = time.thread_time()
    with pytest.raises(GrammarError, match=r"takes more than 0\.2 s"), deadline(0.2):
        json_value(normalise(schema).normal)
    assert time.thread_time() - start < 2


def test_without_a_deadline_there_is_none() -> None:
    with deadline(0):
        pass
    check()


def test_many_strings_to_be_kept_out_take_little() -> None:
    schema = {"type": "string", "not": {"enum": [f"value {number}" for number in range(9_999)]}}

    start = time.thread_time()
    found = normalise(schema, arguments=False)
    assert time.thread_time() - start < 5
    assert [(one.path, one.level) for one in found.findings if one.keyword == "not"] == [("/not", "narrowed")]


@pytest.mark.parametrize("name", ["hermes", "pythonic", "glm47", "minimax_m3"])
def test_references_that_lead_deep_are_refused(name: str) -> None:
    definitions: dict[str, Any] = {
        f"d{at}": {
            "type": "object",
            "properties": {"x": {"$ref": f"#/$defs/d{at + 1}"}, "y": {"type": "string"}, "z": {"type": "number"}},
            "required": ["x", "y", "z"],
        }
        for at in range(300)
    }
    definitions["d300"] = {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]}
    schema = {"type": "object", "properties": {"v": {"$ref": "#/$defs/d0"}}, "required": ["v"], "$defs": definitions}
    with pytest.raises(GrammarError, match="deep"):
        toolglot.load_parser(name).structural_tag([toolglot.Tool("f", None, schema)], "required")
