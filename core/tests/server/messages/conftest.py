"""Ways to talk to the Messages API: over plain HTTP, and through the official SDK."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anthropic
import httpx
import pytest

MODEL = "scripted"
DEFAULTS = {"model": MODEL, "max_tokens": 500, "messages": [{"role": "user", "content": "Hi"}]}


@dataclass
class Api:
    """The Messages API of a running server."""

    served: Any
    sdk: anthropic.Anthropic

    @property
    def engine(self) -> Any:
        return self.served.engine

    def post(self, path: str = "/v1/messages", **fields: Any) -> httpx.Response:
        body = {key: value for key, value in {**DEFAULTS, **fields}.items() if value is not ...}
        return self.served.http.post(path, json=body)

    def events(self, **fields: Any) -> list[dict[str, Any]]:
        """The events of a streamed reply, off the wire; checks the framing."""
        response = self.post(stream=True, **fields)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        *events, end = response.text.split("\n\n")
        assert end == ""
        return [_event(*event.split("\n")) for event in events]

    def prompt(self, **fields: Any) -> str:
        """What the model reads of a request."""
        self.engine.say("ok")
        response = self.post(**fields)
        assert response.status_code == 200, response.text
        return str(self.engine.prompt)

    def both(self, **fields: Any) -> dict[str, Any]:
        """The reply, asked for whole and streamed, which must be the same."""
        response = self.post(**fields)
        assert response.status_code == 200, response.text
        whole = response.json()
        assert without_ids(accumulated(self.events(**fields))) == without_ids(whole)
        return whole

    def error(self, status: int, **fields: Any) -> dict[str, Any]:
        """The error of a request that is refused, whole and streamed."""
        whole, streamed = self.post(**fields), self.post(**{**fields, "stream": True})
        assert (whole.status_code, streamed.status_code) == (status, status), whole.text
        body = whole.json()
        assert body.keys() == {"type", "error", "request_id"}
        assert body["type"] == "error"
        assert body["request_id"] == whole.headers["request-id"]
        assert body["error"] == streamed.json()["error"]
        assert body["error"].keys() - {"details"} == {"type", "message"}
        return body["error"]


def without_ids(message: dict[str, Any]) -> dict[str, Any]:
    """The message without what is made anew each time."""
    content = [{key: value for key, value in block.items() if key != "id"} for block in message["content"]]
    return {**message, "id": "", "content": content}


def accumulated(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What a stream adds up to; checks the order of its events."""
    start, ping, *blocks, delta, stop = events
    assert (start["type"], ping, stop) == ("message_start", {"type": "ping"}, {"type": "message_stop"})
    assert start["message"]["content"] == []
    assert start["message"]["stop_reason"] is None
    content: list[dict[str, Any]] = []
    while blocks:
        size = 1 + [event["type"] for event in blocks].index("content_block_stop")
        content.append(_block(len(content), blocks[:size]))
        blocks = blocks[size:]
    extension = {"toolglot": delta["toolglot"]} if "toolglot" in delta else {}
    return {**start["message"], "content": content, **delta["delta"], "usage": delta["usage"], **extension}


def _block(index: int, events: list[dict[str, Any]]) -> dict[str, Any]:
    start, *middle, _ = events
    assert start["type"] == "content_block_start"
    assert {event["index"] for event in events} == {index}
    assert all(event["type"] == "content_block_delta" for event in middle)
    block = start["content_block"]
    texts = {"text": "", "thinking": "", "signature": "", "partial_json": ""}
    for event in middle:
        delta = event["delta"]
        (key,) = delta.keys() - {"type"}
        assert delta["type"] == {"partial_json": "input_json"}.get(key, key) + "_delta"
        texts[key] += delta[key]
    if block["type"] == "tool_use":
        return {**block, "input": json.loads(texts["partial_json"])}
    assert texts[block["type"]] != ""
    assert (middle[-1]["delta"]["type"] == "signature_delta") == (block["type"] == "thinking")
    return {**block, block["type"]: texts[block["type"]]}


def _event(name: str, data: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(data.removeprefix("data: "))
    assert name == f"event: {event['type']}"
    return event


@pytest.fixture(scope="session")
def apis(serving) -> Iterator[Callable[..., Api]]:
    """``apis(**config)``: the API of a server with that configuration."""
    clients: list[anthropic.Anthropic] = []

    def get(**config: Any) -> Api:
        served = serving(**config)
        key = served.client.api_key
        clients.append(anthropic.Anthropic(base_url=served.url, api_key=key, max_retries=0))
        return Api(served, clients[-1])

    yield get
    for client in clients:
        client.close()


@pytest.fixture
def api(apis) -> Api:
    return apis()


@pytest.fixture
def tool() -> dict[str, Any]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return {"name": "get_weather", "description": "The weather", "input_schema": schema}
