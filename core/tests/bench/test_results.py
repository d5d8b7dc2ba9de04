"""What is counted of a run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from toolglot.bench.replies import added_up, decode
from toolglot.bench.results import ReplyCall, Result, figures, read, violation
from toolglot.errors import ToolglotError
from toolglot.requests import Tool

TOOLS = (
    Tool("add", None, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
    Tool("now"),
)


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([("add", '{"a": 1}'), ("now", "{}")], None),
        ([("add", '{"a": 1}'), ("sub", "{}")], "no tool is named 'sub'"),
        ([("add", '{"a": ')], "the arguments of add are no JSON"),
        ([("add", '{"a": "1"}')], "the arguments of add are not valid"),
        ([("now", "[]")], "the arguments of now are not valid"),
        ([], "the reply ended in calls, but has none"),
    ],
)
def test_the_first_bad_call_is_told_of(calls: list[tuple[str, str]], found: str | None) -> None:
    said = violation(TOOLS, [ReplyCall(*call) for call in calls])

    assert said is found if found is None else (said or "").startswith(found)


def test_figures_are_shares_of_the_replies_with_calls() -> None:
    results = [
        Result(id="1", finish_reason="tool_calls"),
        Result(id="2", finish_reason="tool_calls", violation="no tool is named 'x'"),
        Result(id="3", finish_reason="length"),
        Result(id="4", error="HTTP 500"),
        Result(id="5", finish_reason="stop"),
    ]
    theirs = [Result(id=number, finish_reason="tool_calls" if number in "15" else "stop") for number in "123456"]
    found = figures(results, theirs)

    assert (found.requests, found.errors, found.calls, found.valid) == (5, 1, 2, 1)
    assert found.schema_accuracy == 0.5
    assert found.finish_reasons == {"length": 1, "stop": 1, "tool_calls": 2}
    assert found.trigger_similarity == 0.5  # one of both, of two here and two there


def test_where_there_is_nothing_to_count_there_is_no_share() -> None:
    found = figures([Result(id="1", finish_reason="stop")], [Result(id="1", finish_reason="stop")])

    assert (found.schema_accuracy, found.trigger_similarity) == (None, None)


def test_results_are_read_back_and_the_last_of_one_id_counts(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    lines = [Result(id="1", error="HTTP 500"), Result(id="1", finish_reason="stop", calls=(ReplyCall("add", "{}"),))]
    path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))

    assert read(path) == [lines[1]]
    path.write_text('{"id": 1}')
    with pytest.raises(ToolglotError, match=r"results\.jsonl:1: no result of a run"):
        read(path)


def test_a_completion_and_its_chunks_add_up_to_the_same() -> None:
    call = {"type": "function", "id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}}
    other = call | {"function": {"name": "now", "arguments": "{}"}}
    whole = {"choices": [{"finish_reason": "tool_calls", "message": {"content": None, "tool_calls": [call, other]}}]}
    pieces = [
        {"index": 0, "function": {"name": "add", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"a"'}},
        {"index": 1, "function": {"name": "now", "arguments": "{}"}},
        {"index": 0, "function": {"arguments": ": 1}"}},
    ]
    chunks = [{"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}]
    chunks += [{"choices": [{"delta": {"tool_calls": [piece]}, "finish_reason": None}]} for piece in pieces]
    chunks += [{"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}, {"choices": [], "usage": {}}]

    found = added_up([decode(msgspec.json.encode(whole))])
    assert found == ("tool_calls", (ReplyCall("add", '{"a": 1}'), ReplyCall("now", "{}")))
    assert added_up(decode(msgspec.json.encode(chunk)) for chunk in chunks) == found
