"""Calls are checked against their schemas, and schemas are not trusted."""

from __future__ import annotations

import socket
import time

import pytest

from toolglot import Tool
from toolglot.validation import Validator


def outcome(parameters, arguments, name="f"):
    return Validator([Tool("f", None, parameters)]).outcome(name, arguments)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ('{"a": 1}', "ok"),
        ('{"a": "x"}', "schema_violation"),
        ("{}", "schema_violation"),
        ("[1]", "malformed"),
        ('{"a": 1', "malformed"),
        ('{"a": NaN}', "malformed"),
        ('{"a": 1E400}', "schema_violation"),
    ],
)
def test_outcomes(arguments, found):
    parameters = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 9}}, "required": ["a"]}

    assert outcome(parameters, arguments) == found


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {f"p{at}": {"pattern": rf"^(\w{{1,30}}\p{{L}}{{1,{30 + at}}}){{2}}$"} for at in range(60)}},
        {"properties": {"a": {"pattern": r"^(\w{1,100}\p{L}{1,100}){3}$"}}},
        {"$defs": {f"d{at}": {"$id": f"x{at}", "type": "string"} for at in range(1900)}},
    ],
)
def test_a_schema_that_takes_long_to_read_is_not_used(schema):
    validator = Validator([Tool("f", None, schema)])

    start = time.thread_time()
    assert validator.outcome("f", "{}") == "ok"
    assert time.thread_time() - start < 2  # a tenth of it, on any machine of these days
    assert not validator.can_check("f")


def test_patterns_as_people_write_them_are_checked():
    names = {f"a{at}": {"pattern": rf"^[\w.-]{{1,255}}$|^{at}$"} for at in range(20)}

    assert outcome({"properties": names}, '{"a7": "!"}') == "schema_violation"


def test_an_unknown_tool_is_not_checked():
    assert outcome({}, "{}", name="g") == "unknown_tool"


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_nothing_that_a_schema_refers_to_is_fetched_or_opened(scheme, tmp_path):
    (tmp_path / "schema.json").write_text('{"type": "integer"}')
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        http = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
        reference = http if scheme == "http" else (tmp_path / "schema.json").as_uri()
        validator = Validator([Tool("f", None, {"properties": {"a": {"$ref": reference}}})])

        assert validator.outcome("f", '{"a": "x"}') == "ok"
        with pytest.raises(TimeoutError):
            listener.accept()

    assert not validator.checked, "and it is said that the call was not checked"


@pytest.mark.parametrize(
    ("parameters", "good", "bad"),
    [
        ({"type": "dict", "properties": {"a": {"type": "float"}}}, '{"a": 1.5}', '{"a": "1.5"}'),
        ({"properties": {"a": {"type": "integer", "nullable": True}}}, '{"a": null}', '{"a": "x"}'),
        ({"properties": {"a": {"minimum": 3, "exclusiveMinimum": True}}}, '{"a": 4}', '{"a": 3}'),
        (
            {"properties": {"a": {"items": [{"type": "integer"}, {"type": "string"}]}}},
            '{"a": [1, "x"]}',
            '{"a": ["x"]}',
        ),
        ({"properties": {"a": {"format": "date"}}}, '{"a": "2024-02-29"}', '{"a": "2023-02-29"}'),
        ({"properties": {"a": {"type": "string", "enum": None}}}, '{"a": "x"}', '{"a": 1}'),
    ],
    ids=["types of BFCL", "nullable", "draft 4", "draft 7", "formats", "null for an absent keyword"],
)
def test_schemas_are_understood_in_many_spellings(parameters, good, bad):
    assert (outcome(parameters, good), outcome(parameters, bad)) == ("ok", "schema_violation")


def test_a_reference_into_a_keyword_that_has_another_name_today_is_followed():
    pair = {"items": [{"type": "integer"}]}
    parameters = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"a": pair, "b": {"$ref": "#/properties/a/items/0"}},
    }

    assert (outcome(parameters, '{"b": 1}'), outcome(parameters, '{"b": "x"}')) == ("ok", "schema_violation")


@pytest.mark.parametrize("parameters", [{"dependencies": []}, {"properties": []}, {"type": "wat"}, {"type": []}])
def test_what_is_no_schema_checks_nothing_and_says_so(parameters):
    validator = Validator([Tool("f", None, parameters), Tool("g")])

    assert validator.outcome("f", '{"a": 1}') == "ok"
    assert not validator.checked
    assert [validator.can_check(name) for name in ("f", "g", "unknown")] == [False, True, False]
