"""Serving with a plugin file written for vLLM: whole and streamed replies are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolglot import plugins

FILES = Path(__file__).parents[1] / "vllm_plugin_files"


@pytest.fixture
def served_with(serving: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server with the parser of one of the files, by its name."""
    monkeypatch.setattr(plugins, "_files", {})

    def serve(name: str) -> Any:
        plugins.load_file(FILES / f"{name}.py")
        return serving(name)

    return serve


@pytest.mark.parametrize("each", [1, 3, 200])
def test_text_markers(served_with: Any, weather: dict[str, Any], each: int) -> None:
    served = served_with("tagged_json")
    served.engine.say('Säure. <call>{"name": "get_weather", "arguments": {"city": "Tromsø"}}</call>', each=each)
    whole = served.post(tools=[weather]).json()["choices"][0]
    calls = whole["message"]["tool_calls"]

    assert whole["message"]["content"] == "Säure. "
    assert [call["function"] for call in calls] == [{"name": "get_weather", "arguments": '{"city": "Tromsø"}'}]
    assert calls[0]["id"].startswith("chatcmpl-tool-")
    if each < 200:  # the file takes a call's name and its arguments from two deltas
        served.both(tools=[weather])


@pytest.mark.parametrize("each", [1, 3, 200])
def test_markers_that_are_special_tokens(served_with: Any, weather: dict[str, Any], each: int) -> None:
    served = served_with("noted_fields")
    served.engine.say("Säure. <tool_call>get_weather<|note|>city=Tromsø</tool_call>", each=each)

    reply = served.both(tools=[weather])

    assert reply.content == "Säure. "
    assert reply.calls == [("get_weather", '{"city": "Tromsø"}')]
    assert reply.finish == "tool_calls"
    assert reply.extension == {"calls": [{"outcome": "ok", "repairs": []}]}


def test_an_answer_without_tools_hides_special_tokens(served_with: Any, weather: dict[str, Any]) -> None:
    served = served_with("noted_fields")
    served.engine.say("Hi<|note|>!")

    assert served.both().content == "Hi!"
    assert served.both(tools=[weather]).content == "Hi<|note|>!"


def test_a_call_that_the_token_limit_cut(served_with: Any, weather: dict[str, Any]) -> None:
    served = served_with("tagged_json")
    served.engine.say('<call>{"name": "get_weather", "arguments": {"city": "Tromsø"}}</call>')

    chunks = served.chunks(tools=[weather], max_tokens=56, stream_options={"include_usage": True})

    pieces = [call for chunk in chunks for choice in chunk["choices"] for call in choice["delta"].get("tool_calls", [])]
    assert "".join(piece["function"]["arguments"] for piece in pieces) == '{"city": "Tro'
    last = chunks[-2]["choices"][0]
    assert last["finish_reason"] == "length"
    assert last["toolglot"] == {"calls": [{"outcome": "truncated", "repairs": []}]}
