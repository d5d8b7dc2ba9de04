"""The table of engines on the page is what the dialects declare."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolglot.backends.dialect import FIELDS
from toolglot.backends.dialects import DIALECTS

PAGE = (Path(__file__).parents[3] / "docs/engines.md").read_text("utf-8")
ROWS = {
    cells[0].strip("`"): dict(zip(DIALECTS, cells[1:], strict=True))
    for line in re.findall(r"^\| (.+) \|$", PAGE, re.MULTILINE)
    if len(cells := line.split(" | ")) == 1 + len(DIALECTS)
}


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_fields(name):
    told = {kind: cell != "no" for kind, cell in ROWS[name].items()}
    assert told == {
        kind: name in one().takes({"enable_deterministic_inference": True}) for kind, one in DIALECTS.items()
    }


@pytest.mark.parametrize(
    ("row", "capability"),
    [("Grammars", "grammar"), ("Token ids", "token_ids"), ("Aborted by", "abort"), ("Cached tokens", "cached_tokens")],
)
def test_capabilities(row, capability):
    assert ROWS[row] == {kind: getattr(one.capabilities, capability) for kind, one in DIALECTS.items()}


def test_routes():
    assert {kind: cell.strip("`") for kind, cell in ROWS["Route"].items()} == {
        kind: one.path for kind, one in DIALECTS.items()
    }
