"""``toolglot schema``: what a grammar enforces, for people and for programs."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

Audit = Callable[..., tuple[int, str]]
CITY = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 9}}, "additionalProperties": False}
DAYS = {"type": "object", "properties": {"days": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}}}
IMPOSSIBLE = {"type": "object", "properties": {"a": False}, "required": ["a"]}


def tool(name: str, parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


@pytest.fixture
def audit(toolglot: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Audit:
    """Runs ``toolglot schema`` on a JSON value, and returns the exit code and what it prints."""

    def run(value: Any, *flags: str) -> tuple[int, str]:
        path = tmp_path / "schema.json"
        path.write_text(json.dumps(value))
        code = toolglot("schema", *flags, str(path))
        return code, capsys.readouterr().out

    return run


def test_a_schema_that_is_enforced(audit: Audit) -> None:
    code, printed = audit(CITY)

    assert code == 0
    name, headings, *rows, empty, closing = printed.splitlines()
    assert (name, headings.split(), empty) == ("schema", ["PATH", "KEYWORD", "LEVEL", "REASON"], "")
    assert ["/properties/city/maxLength", "maxLength", "exact"] in [row.split()[:3] for row in rows]
    assert closing.startswith("schemas: 1, refused: 0; keywords: ")
    assert closing.endswith(" 0 unenforceable")


def test_a_keyword_that_is_not_enforced_is_told_and_makes_the_exit_code(audit: Audit) -> None:
    code, printed = audit(tool("plan", DAYS))

    assert code == 1
    assert printed.startswith("plan\n")
    (row,) = [line.split(maxsplit=3) for line in printed.splitlines() if "unenforceable" in line][:1]
    assert row[:3] == ["/properties/days/uniqueItems", "uniqueItems", "unenforceable"]
    assert row[3], "and why"


def test_a_list_of_tools_has_a_table_each(audit: Audit) -> None:
    code, printed = audit([tool("city", CITY), tool("bad", IMPOSSIBLE), tool("now", None)])

    assert code == 1
    parts = printed.split("\n\n")
    assert [part.split("\n")[0] for part in parts[:-1]] == ["city", "bad", "now"]
    assert "refused: " in parts[1]
    assert "schemas: 3, refused: 1" in parts[-1]


def test_machines_get_json(audit: Audit) -> None:
    code, printed = audit([tool("plan", DAYS), tool("bad", IMPOSSIBLE)], "--json")

    plan, bad = json.loads(printed)
    assert code == 1
    levels = {finding["path"]: finding["level"] for finding in plan["findings"]}
    assert levels["/properties/days/uniqueItems"] == "unenforceable"
    assert (plan["name"], plan["refused"], bad["name"], bad["findings"]) == ("plan", None, "bad", [])
    assert bad["refused"]


def test_standard_input_is_read(
    toolglot: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(CITY).encode())))

    assert toolglot("schema", "-") == 0
    assert "maxLength" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "not JSON"), ('[{"function": 1}]', "must be an object"), ('[{"name": "f"}]', "must be an object")],
)
def test_a_file_that_is_none_is_refused(text: str, reason: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    path = tmp_path / "schema.json"
    path.write_text(text)

    said = refused("schema", str(path))

    assert reason in said
    assert "schema.json" in said


def test_a_value_that_is_no_schema_is_refused_as_such(audit: Audit) -> None:
    code, printed = audit({"properties": []})

    assert code == 1
    assert "refused: /properties" in printed
