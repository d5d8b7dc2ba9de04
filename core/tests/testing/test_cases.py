"""Case files: read strictly, and compared as DESIGN says."""

from __future__ import annotations

import json

import pytest

from toolglot import Call, Message
from toolglot.testing import Expected, ExpectedCall, load_cases
from toolglot.testing.cases import expectation, meaning

CASE = {"id": "a", "source": "made", "raw_output": "Hello", "expected": {"content": "Hello"}}


@pytest.fixture
def folder(tmp_path):
    def write(*cases):
        (tmp_path / "some.jsonl").write_text("".join(json.dumps({**CASE, **case}) + "\n" for case in cases))
        return tmp_path

    return write


def same(expected, message):
    return meaning(message, expected) == expectation(expected)


def test_cases_are_read_in_order(folder):
    cases = load_cases(folder({"id": "b", "tool_choice": "none"}, {"id": "a", "finish_reason": "length"}))

    assert [case.id for case in cases] == ["b", "a"]
    assert (cases[0].request.tool_choice, cases[1].output.finish) == ("none", "length")


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({"raw": "x"}, "some.jsonl:1: .*`raw`"),
        ({"expected": {"contents": "x"}}, "some.jsonl:1: .*`contents`"),
        ({"raw_output": None}, "some.jsonl:1: .*raw_output"),
        ({"chunks": ["Hel", "l"]}, "some.jsonl:1: the chunks of 'a'"),
    ],
)
def test_a_bad_case_is_named(folder, case, message):
    with pytest.raises(ValueError, match=message):
        load_cases(folder(case))


def test_ids_are_unique(folder):
    with pytest.raises(ValueError, match=r"some\.jsonl:2: there are two cases with the id 'a'"):
        load_cases(folder({}, {}))


@pytest.mark.parametrize("content", ["a b", " a\n\nb ", "a  b"])
def test_whitespace_in_content_is_not_compared(content):
    assert same(Expected(content="a b"), Message(content=content))


def test_no_content_is_empty_content():
    assert same(Expected(), Message(content="\n"))
    assert not same(Expected(), Message(content="x"))
    assert not same(Expected(reasoning="x"), Message())


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        ('{"a":1,"b":[ ]}', True),
        ('{"b": [], "a": 1}', True),
        ('{"a": 1}', False),
        ('{"a": true, "b": []}', False),
        ('{"a": "1", "b": []}', False),
        ('{"a": 1, "b": []', False),
    ],
)
def test_arguments_are_compared_as_json_values(arguments, want):
    expected = Expected(tool_calls=(ExpectedCall("f", {"a": 1, "b": []}),))

    assert same(expected, Message(tool_calls=(Call("", "f", arguments),))) is want


def test_arguments_as_text_are_compared_as_text():
    expected = Expected(tool_calls=(ExpectedCall("f", '{"a": 1'),))

    assert same(expected, Message(tool_calls=(Call("", "f", '{"a": 1'),)))
    assert not same(expected, Message(tool_calls=(Call("", "f", '{"a":1'),)))


def test_outcomes_are_compared_where_they_are_given():
    call = Message(tool_calls=(Call("", "f", "{}", "malformed"),))

    assert same(Expected(tool_calls=(ExpectedCall("f", {}),)), call)
    assert not same(Expected(tool_calls=(ExpectedCall("f", {}, "ok"),)), call)


def test_calls_too_many_and_too_few_differ():
    one = Message(tool_calls=(Call("", "f", "{}"),))

    assert not same(Expected(), one)
    assert not same(Expected(tool_calls=(ExpectedCall("f", {}), ExpectedCall("f", {}))), one)
