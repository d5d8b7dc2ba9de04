"""Calls are checked against their schemas, and schemas are not trusted."""

from __future__ import annotations

import socket

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
