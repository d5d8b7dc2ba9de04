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
    assert closing.endswith(" 0 unenforceable, 0 say nothing")


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


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("half \ud83d", "half \\ud83d"),
        ("\x1b[31mred", "\\u001b[31mred"),
        ("two\nlines\u2028", "two\\u000alines\\u2028"),
        ("hidden \U000e0041", "hidden \\U000e0041"),
        ("größe 尺寸 🌍", "größe 尺寸 🌍"),
    ],
)
def test_characters_that_are_not_printable_are_escaped(name: str, shown: str, audit: Audit) -> None:
    _, of_property = audit({"type": "object", "properties": {name: {"type": "string"}}})
    _, of_keyword = audit({"type": "string", name: 1})
    _, of_tool = audit(tool(name, {}))
    _, refusal = audit({"properties": {name: False}, "required": [name], "type": "object"})

    assert f"\n/properties/{shown}/type  type " in of_property
    assert f"\n/{shown}  {shown} " in of_keyword
    assert of_tool.startswith(f"{shown}\n")
    assert f"\nrefused: /properties/{shown}: " in refusal


def test_json_holds_every_character(audit: Audit) -> None:
    name = "\ud83d\x1b\n\U000e0041"

    _, printed = audit(tool(name, {"properties": {name: {"type": "string"}}}), "--json")

    (verdict,) = json.loads(printed)
    assert printed.isascii()
    assert "\x1b" not in printed
    assert verdict["name"] == name
    assert f"/properties/{name}/type" in [finding["path"] for finding in verdict["findings"]]


@pytest.mark.parametrize(
    "spelling",
    [
        tool("plan", DAYS),
        {"function": {"name": "plan", "parameters": DAYS}},
        {"type": "function", "name": "plan", "parameters": DAYS, "strict": False},
        {"name": "plan", "description": "of days", "parameters": DAYS},
        {"name": "plan", "inputSchema": DAYS, "annotations": {}},
        {"name": "plan", "input_schema": DAYS},
        {"type": "custom", "name": "plan", "input_schema": DAYS},
    ],
)
def test_a_tool_may_be_spelled_as_any_interface_does(spelling: dict[str, Any], audit: Audit) -> None:
    _, alone = audit(spelling)
    _, listed = audit([spelling, spelling])
    _, of_server = audit({"tools": [spelling, spelling], "nextCursor": "2"})
    _, of_request = audit({"model": "m", "messages": [], "tools": [spelling, spelling]})

    (table,) = alone.split("\n\n")[:-1]
    assert table.startswith("plan\n")
    assert "/properties/days/uniqueItems  uniqueItems" in table
    assert listed.split("\n\n")[:-1] == [table, table]
    assert of_server == of_request == listed


@pytest.mark.parametrize("spelling", [{"type": "function", "name": "now"}, {"name": "now", "parameters": None}])
def test_a_tool_may_have_no_parameters(spelling: dict[str, Any], audit: Audit) -> None:
    code, printed = audit(spelling)

    assert code == 0
    assert printed.startswith("now\n")


@pytest.mark.parametrize(
    "key",
    [
        {"function": {"description": "what it is for"}},
        {"function": 1},
        {"type": "object", "function": {"name": "f"}},
        {"tools": ["hammer"]},
        {"tools": []},
        {"type": "object", "name": "n", "parameters": {}},
        {"name": {}, "parameters": {}},
    ],
)
def test_a_schema_with_a_key_that_tools_have_stays_a_schema(key: dict[str, Any], audit: Audit) -> None:
    _, printed = audit({"properties": {"a": {"type": "string"}}, **key})

    assert printed.startswith("schema\n")
    assert "/properties/a/type" in printed


def test_a_faulty_tool_of_a_request_is_refused_by_its_number(tmp_path: Path, refused: Callable[..., str]) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"tools": [tool("plan", DAYS), {"name": "f", "inputSchema": 3}]}))

    assert "`parameters` must be a JSON Schema object" in refused("schema", str(path))


def test_null_is_no_schema(audit: Audit) -> None:
    code, printed = audit(None)

    assert code == 1
    assert "refused: a JSON Schema is wanted, not null" in printed
    assert "additionalProperties" not in printed


def test_the_root_is_not_the_member_without_a_name(audit: Audit) -> None:
    _, of_root = audit({"type": "string", "minLength": 3, "maxLength": 2})
    _, of_member = audit({"type": "string", "": {}})
    _, as_json = audit(3, "--json")

    assert "refused: the schema admits no value" in of_root
    assert of_member.splitlines()[3].split()[:2] == ["/", "-"]
    assert json.loads(as_json)[0]["refused"] == "a schema (an object, true or false) is wanted, not int"


def test_a_byte_order_mark_is_accepted(toolglot: Callable[..., int], tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(CITY), encoding="utf-8-sig")

    assert toolglot("schema", str(path)) == 0


def test_keywords_that_say_nothing_are_counted_apart(audit: Audit) -> None:
    _, printed = audit({"type": "object", "requred": ["a"], "x-y": 1, "title": "t"})
    _, silent = audit({"requred": ["a"]})

    rows = [line.split(maxsplit=3) for line in printed.splitlines()]
    assert ["/requred", "requred", "-", "says nothing of values"] in rows
    assert printed.endswith("keywords: 1 exact, 0 narrowed, 0 unenforceable, 3 say nothing\n")
    assert "\nno keyword of it says anything of values\n" in silent
    assert "no keyword" not in printed


def test_an_order_of_properties_that_is_free_is_not_enforced(audit: Audit) -> None:
    plain, _ = audit(tool("city", CITY))
    code, printed = audit(tool("city", CITY), "--any-property-order")
    strict = tool("city", CITY)
    strict["function"]["strict"] = True
    of_strict, _ = audit(strict, "--any-property-order")

    levels = {row[0]: row[2] for row in map(str.split, printed.splitlines()) if len(row) > 2}
    assert (plain, code, of_strict) == (0, 1, 0)
    assert levels["/properties"] == "unenforceable"
    assert levels["/properties/city/maxLength"] == "exact"
