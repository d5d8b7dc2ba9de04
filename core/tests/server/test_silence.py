"""Streams in which nothing happens for a while are kept alive, in each API's own way."""

from __future__ import annotations

import anthropic
import httpx
import openai
import pytest

from toolglot.errors import EngineError
from toolglot.server import sse

MESSAGES = [{"role": "user", "content": "Hi"}]
COMMENT = ": keep-alive\n\n"
PING = 'event: ping\ndata: {"type":"ping"}\n\n'
SILENCE = 0.05
BODIES = {
    "/v1/chat/completions": ({"messages": MESSAGES}, COMMENT),
    "/v1/completions": ({"prompt": "Hi"}, COMMENT),
    "/v1/responses": ({"input": "Hi"}, COMMENT),
    "/v1/messages": ({"messages": MESSAGES, "max_tokens": 100}, PING),
}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(sse, "SILENCE_SECONDS", SILENCE)


def stream(served, path):
    response = served.http.post(path, json={"model": "scripted", "stream": True, **BODIES[path][0]})
    return response, response.text


@pytest.mark.parametrize("path", BODIES)
def test_silences_are_filled_from_before_the_first_event_on(served, path):
    served.engine.say("abc", delay=4.5 * SILENCE)
    response, text = stream(served, path)
    idle = BODIES[path][1]
    assert response.status_code == 200
    assert text.startswith(idle)
    assert 8 <= text.count(idle) <= 18
    assert all(event.startswith(("data: ", "event: ", ":")) for event in text.split("\n\n")[:-1])


@pytest.mark.parametrize("path", BODIES)
def test_where_there_is_no_silence_nothing_fills_it(served, path, monkeypatch):
    monkeypatch.setattr(sse, "SILENCE_SECONDS", 15.0)
    served.engine.say("abc")
    text = stream(served, path)[1]
    assert text.count(BODIES[path][1]) == (1 if path == "/v1/messages" else 0)  # every message has one at its start


@pytest.mark.parametrize("path", BODIES)
def test_a_failure_after_a_long_silence_is_told_in_the_stream(served, path):
    served.engine.say("", delay=3 * SILENCE, error=EngineError("the device is gone"))
    response, text = stream(served, path)
    assert response.status_code == 200
    assert "the device is gone" in text


def test_the_sdks_read_on(served):
    served.engine.say("abc", delay=3 * SILENCE)
    chat = served.client.chat.completions.create(model="scripted", messages=MESSAGES, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chat) == "abc"
    with served.client.responses.stream(model="scripted", input="Hi") as events:
        assert events.get_final_response().output_text == "abc"
    with (
        anthropic.Anthropic(base_url=served.url, api_key="none", max_retries=0) as client,
        client.messages.stream(model="scripted", max_tokens=9, messages=MESSAGES) as events,
    ):
        assert events.get_final_text() == "abc"


def test_the_sdks_learn_of_a_late_failure(served):
    served.engine.say("", delay=3 * SILENCE, error=EngineError("the device is gone"))
    with pytest.raises(openai.APIError, match="the device is gone"):
        list(served.client.chat.completions.create(model="scripted", messages=MESSAGES, stream=True))
    with served.client.responses.stream(model="scripted", input="Hi") as events:
        kinds = [event.type for event in events]
    assert kinds == ["response.created", "response.in_progress", "error", "response.failed"]
    with (
        anthropic.Anthropic(base_url=served.url, api_key="none", max_retries=0) as client,
        pytest.raises(anthropic.APIStatusError, match="the device is gone"),
        client.messages.stream(model="scripted", max_tokens=9, messages=MESSAGES) as events,
    ):
        events.get_final_message()


@pytest.mark.parametrize("path", BODIES)
def test_a_client_may_leave_in_a_silence(served, path):
    served.engine.say("abc", delay=30)
    body = {"model": "scripted", "stream": True, **BODIES[path][0]}
    with served.http.stream("POST", path, json=body, timeout=5) as response:
        pieces = response.iter_text()
        assert next(pieces).startswith(BODIES[path][1])
        assert served.engine.running == 1
    served.wait_idle(2.0)


def test_a_client_may_leave_before_anything_was_sent(served, monkeypatch):
    monkeypatch.setattr(sse, "SILENCE_SECONDS", 15.0)
    served.engine.say("abc", delay=30)
    with pytest.raises(httpx.ReadTimeout):
        served.http.post("/v1/responses", json={"model": "scripted", "input": "Hi", "stream": True}, timeout=0.3)
    served.wait_idle(2.0)
