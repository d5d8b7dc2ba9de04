"""The measurement of strictness itself: it would see what it looks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from strictness import table
from strictness.deal import deal, parsers
from strictness.referee import Referee
from strictness.schemas import Schema, verdict
from strictness.suite import Group, judged
from strictness.trial import Trial, run
from strictness.wrapping import wrapped

from toolglot.formats.json_grammar import json_value
from toolglot.schemas import normalise
from toolglot.structural_tag import StructuralTag

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
SHORT = NUMBER | {"properties": {"n": {"type": "string", "maxLength": 5}}}


def schema(name: str, sent: Any = NUMBER, judged_by: Any = None) -> Schema:
    return Schema(name, "made", "count", sent, sent if judged_by is None else judged_by)


def test_good_grammars_have_no_faults() -> None:
    outcome = run(
        Trial("hermes", (schema("a"), schema("b", SHORT), schema("c"), schema("d", SHORT)), tokens=True, seed=1)
    )

    assert outcome.faults == []
    assert (outcome.called, outcome.unwritable) == (["a", "b", "c", "d"], {})
    assert outcome.valid == outcome.calls >= 6


def test_a_grammar_that_admits_what_is_not_valid_is_seen() -> None:
    looser = schema("a", NUMBER, NUMBER | {"properties": {"n": {"type": "integer", "minimum": 10**19}}})
    outcome = run(Trial("hermes", (looser,), tokens=False, seed=1))

    assert outcome.calls == 2
    assert outcome.valid == 0
    assert all(fault.of_schema and "less than the minimum" in fault.violation for fault in outcome.faults)
    assert "<tool_call>" in outcome.faults[0].text


def test_the_same_seed_gives_the_same_faults_also_for_one_schema_alone() -> None:
    looser = schema("b", NUMBER, NUMBER | {"properties": {"n": {"type": "integer", "minimum": 10**19}}})
    trial = Trial("hermes", (schema("a"), looser), tokens=True, seed=7)
    alone = Trial("hermes", (schema("a"), looser), tokens=True, seed=7, only="b")

    assert run(trial).faults[-1] == run(alone).faults[-1]


def test_every_schema_is_played_and_every_parser_gets_its_share() -> None:
    cards = [schema(str(number)) for number in range(70)]
    hands: dict[str, list[str]] = {}
    for trial in deal(("x", "y", "z"), cards, each=30, seed=0):
        hands.setdefault(trial.parser, []).extend(card.id for card in trial.schemas)

    assert {name: len(hand) == len(set(hand)) >= 30 for name, hand in hands.items()} == dict.fromkeys("xyz", True)
    assert set().union(*hands.values()) == {card.id for card in cards}


def test_every_installed_parser_plays_unless_it_needs_a_checkpoint() -> None:
    names = parsers()

    assert "hermes" in names
    assert "qwen3" in names["hermes"]
    assert "hf" not in names


@pytest.mark.parametrize(
    ("text", "valid"),
    [("0.3", True), ("0.35", False), ("1e2", True), ("NaN", False), ("[", False)],
)
def test_the_referee_s_numbers_are_exact(text: str, valid: bool) -> None:
    assert (Referee({"multipleOf": 0.1}, "2020-12").violation(text) is None) == valid


def test_the_referee_fetches_nothing_and_says_so() -> None:
    outside = Referee({"properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}, "2020-12")

    assert "no telling" in str(outside.violation('{"a": 1}'))
    assert outside.violation("{}") is None


def test_references_of_a_wrapped_schema_lead_where_they_did() -> None:
    tree = {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#"}}}, "const": {"$ref": "#/x"}}
    found = wrapped({"$schema": "http://json-schema.org/draft-07/schema#", **tree})

    assert found["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert found["properties"]["value"] == {
        "$ref": "#/properties/value/$defs/a",
        "$defs": {"a": {"items": {"$ref": "#/properties/value"}}},
        "const": {"$ref": "#/x"},
    }
    named = {"$id": "http://localhost/a", "properties": {"b": {"$ref": "#"}}}
    assert wrapped(named)["properties"]["value"] == named


def test_the_keywords_for_which_a_schema_is_not_taken_are_named() -> None:
    outside = verdict({"properties": {"a": {"$ref": "https://example.com/a"}}})
    none = verdict({"properties": {"a": False}, "required": ["a"]})
    compared = verdict({"properties": {"a": {"items": {"type": "string"}, "uniqueItems": True}}})

    assert (outside.level, outside.keywords) == ("relaxed", ("$ref",))
    assert verdict({"$ref": "#/x"}).keywords == ("$ref",)
    assert verdict(False).keywords == ("the schema admits no object",)
    assert none.level == "refused"
    assert (compared.level, compared.keywords) == ("relaxed", ("uniqueItems",))


def test_an_instance_that_is_wrongly_admitted_is_seen() -> None:
    tests = (
        {"description": "good", "data": {"b": 1, "a": 1}, "valid": True},
        {"description": "bad", "data": {"a": "x"}, "valid": False},
    )
    sent = {"properties": {"a": True, "b": True}}
    grammar = StructuralTag(json_value(normalise(sent, arguments=False).normal))
    checked = judged(Group("g", "draft", sent, tests), verdict(sent, arguments=False), grammar)

    assert (checked.valid, checked.admitted) == (1, 1)
    assert checked.wrong == ('it admits {"a": "x"} (bad)',)


def test_the_table_is_put_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{table.OPENED}\nold\n{table.CLOSED}\nafter\n")
    table.write(page, ["| a |"])

    assert page.read_text() == f"before\n{table.OPENED}\n\n| a |\n\n{table.CLOSED}\nafter\n"
    page.write_text("none")
    with pytest.raises(ValueError, match="no place for the table"):
        table.write(page, [])
