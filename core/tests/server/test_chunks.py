"""The shape of a stream on the wire."""

from __future__ import annotations

import pytest

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def choices(chunks):
    return [choice for chunk in chunks for choice in chunk["choices"]]


@pytest.fixture(params=[1, 5, 1000], ids=lambda each: f"{each} tokens a step")
def chunks(served, weather, request):
    served.engine.say(f"<think>\nHm\n</think>\n\nOn it. {CALL}\n{CALL}", each=request.param)
    return served.chunks(tools=[weather])


def test_the_role_comes_once_and_first(chunks):
    first, *others = choices(chunks)
    assert first["delta"] == {"role": "assistant", "content": ""}
    assert all("role" not in choice["delta"] for choice in others)


def test_no_other_delta_but_the_last_is_empty(chunks):
    for choice in choices(chunks)[1:-1]:
        (value,) = {repr(value) for value in choice["delta"].values()}
        assert value not in ("''", "None", "[]")


def test_identity_is_constant(chunks):
    assert len({(chunk["id"], chunk["created"], chunk["model"], chunk["object"]) for chunk in chunks}) == 1
    assert chunks[0]["object"] == "chat.completion.chunk"
    assert chunks[0]["id"].startswith("chatcmpl-")


def test_exactly_one_chunk_has_a_finish_reason_and_it_is_the_last(chunks):
    reasons = [choice["finish_reason"] for choice in choices(chunks)]
    assert reasons == [None] * (len(reasons) - 1) + ["tool_calls"]
    assert chunks[-1]["choices"][0]["delta"] == {}


def test_the_last_chunk_tells_the_outcomes(chunks):
    assert chunks[-1]["choices"][0]["toolglot"] == {"calls": [{"outcome": "ok", "repairs": []}] * 2}
    assert all("toolglot" not in choice for choice in choices(chunks)[:-1])


def test_a_call_is_announced_once_and_then_comes_in_pieces(chunks):
    entries = [call for choice in choices(chunks) for call in choice["delta"].get("tool_calls", [])]
    for index in (0, 1):
        first, *pieces = [call for call in entries if call["index"] == index]
        assert first.keys() == {"index", "id", "type", "function"}
        assert first["function"] == {"name": "get_weather", "arguments": ""}
        assert pieces
        for piece in pieces:
            assert piece.keys() == {"index", "function"}
            assert piece["function"].keys() == {"arguments"}
        assert "".join(piece["function"]["arguments"] for piece in pieces) == '{"city": "Oslo"}'


def test_a_chunk_has_one_entry_for_an_index_at_most(chunks):
    for choice in choices(chunks):
        indexes = [call["index"] for call in choice["delta"].get("tool_calls", [])]
        assert len(indexes) == len(set(indexes))


def test_reasoning_has_both_names(chunks):
    for choice in choices(chunks):
        assert choice["delta"].get("reasoning") == choice["delta"].get("reasoning_content")


def test_usage_comes_last_when_asked_for_and_is_null_before(served, weather):
    served.engine.say(CALL)
    *others, last = served.chunks(tools=[weather], stream_options={"include_usage": True})
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] == last["usage"]["prompt_tokens"] + last["usage"]["completion_tokens"] > 0
    assert [chunk["usage"] for chunk in others] == [None] * len(others)
    assert others[-1]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("options", [None, {}, {"include_usage": False}, {"include_usage": None}], ids=repr)
def test_without_being_asked_for_no_chunk_has_usage(served, options):
    served.engine.say("Hi")
    assert all("usage" not in chunk for chunk in served.chunks(stream_options=options))


def test_a_call_without_arguments_streams_an_empty_object(served):
    served.engine.say('<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>')
    deltas = [choice["delta"] for choice in choices(served.chunks(tools=[{"function": {"name": "now"}}]))]
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert "".join(call["function"]["arguments"] for call in calls) == "{}"


def test_text_comes_as_it_is_generated(served):
    served.engine.say("abc")
    contents = [choice["delta"].get("content") for choice in choices(served.chunks())]
    assert contents == ["", "a", "b", "c", None]


def test_a_character_of_several_tokens_is_never_torn(served):
    served.engine.say("å🌦")
    contents = [choice["delta"].get("content") for choice in choices(served.chunks())]
    assert contents == ["", "å", "🌦", None]
