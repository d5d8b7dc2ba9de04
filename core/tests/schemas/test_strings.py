"""Strings with several keywords: what the audit says of them."""

from __future__ import annotations

from typing import Any

import pytest

from toolglot.schemas import normalise
from toolglot.schemas.normal import String


def _levels(schema: dict[str, Any]) -> dict[str, str]:
    return {one.path: one.level for one in normalise({"type": "string", **schema}, arguments=False).findings}


@pytest.mark.parametrize(
    ("schema", "level"),
    [
        ({"pattern": "^[a-z]+$", "maxLength": 500}, "exact"),
        ({"pattern": "^[a-z]+(-[a-z]+)*$", "maxLength": 500}, "narrowed"),
        ({"pattern": "^[a-z]+(-[a-z]+)*$", "maxLength": 8}, "exact"),
        ({"pattern": r"\S", "minLength": 1, "maxLength": 500}, "narrowed"),
        ({"pattern": "(.*a){50}", "maxLength": 500}, "unenforceable"),
    ],
)
def test_a_length_with_a_pattern_is_narrowed_where_not_all_can_be_counted(schema: dict[str, Any], level: str) -> None:
    assert level in _levels(schema).values()
    assert ("narrowed" in _levels(schema).values()) == (level == "narrowed")


def test_a_length_cuts_a_format_that_is_narrowed_anyhow() -> None:
    alone, cut = _levels({"format": "email"}), _levels({"format": "email", "maxLength": 60})
    assert (alone["/format"], cut["/format"]) == ("narrowed", "narrowed")
    assert _levels({"format": "uuid", "maxLength": 60})["/format"] == "exact"


def test_a_second_length_that_narrows_more_is_reported_too() -> None:
    found = _levels({"pattern": "^[a-z]+(-[a-z]+)*$", "maxLength": 500, "allOf": [{"maxLength": 400}]})
    assert [path for path, level in found.items() if level == "narrowed"] == ["/pattern", "/allOf"]


def test_a_pattern_that_cannot_be_cut_to_a_length_leaves_the_length() -> None:
    found = normalise({"type": "string", "pattern": "(.*a){50}", "maxLength": 500}, arguments=False)
    assert found.normal.root == String(0, 500)
    assert [(one.path, one.level) for one in found.relaxed] == [("/pattern", "unenforceable")]
