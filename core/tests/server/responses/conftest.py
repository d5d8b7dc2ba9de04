"""Ways to talk to ``/v1/responses``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

MODEL = "scripted"
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
ENDS = ("response.completed", "response.incomplete", "response.failed")


class Api:
    """A running server, as a client of the Responses API sees it."""

    def __init__(self, served: Any) -> None:
        self.served = served
        self.engine = served.engine
        self.http = served.http
        self.client: openai.OpenAI = served.client

    def post(self, **fields: Any) -> Any:
        """The raw answer."""
        return self.http.post("/v1/responses", content=json.dumps({"model": MODEL, "input": "Hi", **fields}))

    def create(self, **fields: Any) -> dict[str, Any]:
        """A response, which is as the official types have it."""
        answer = self.post(**fields)
        assert answer.status_code == 200, answer.text
        Response.model_validate(answer.json(), strict=True)
        return answer.json()

    def events(self, **fields: Any) -> list[dict[str, Any]]:
        """The events of a streamed response, off the wire; checks framing, types and numbers."""
        answer = self.post(stream=True, **fields)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("text/event-stream")
        *blocks, end = answer.text.split("\n\n")
        assert end == ""
        events = []
        for block in blocks:
            name, data = block.split("\n")
            event = json.loads(data.removeprefix("data: "))
            assert name == f"event: {event['type']}"
            EVENT.validate_python(event)
            events.append(event)
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
        assert events[-1]["type"] in ENDS
        return events

    def both(self, **fields: Any) -> dict[str, Any]:
        """The response, asked for whole and streamed, which must be the same but for ids and times."""
        whole = self.create(**fields)
        events = self.events(**fields)
        assert nameless(events[-1]["response"]) == nameless(whole)
        assert rebuilt(events) == events[-1]["response"]["output"]
        return whole

    def error(self, status: int, **fields: Any) -> dict[str, Any]:
        """The error of a request that is refused, whole and streamed."""
        whole, streamed = self.post(**fields), self.post(**fields, stream=True)
        assert (whole.status_code, streamed.status_code) == (status, status), whole.text
        assert whole.json() == streamed.json()
        error = whole.json()["error"]
        assert error.keys() == {"message", "type", "param", "code"}
        return error


def nameless(value: Any) -> Any:
    """A response without what differs from one to the next."""
    if isinstance(value, list):
        return [nameless(one) for one in value]
    if isinstance(value, dict):
        random = ("id", "call_id", "created_at", "completed_at")
        return {key: nameless(one) for key, one in value.items() if key not in random}
    return value


def rebuilt(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The output as the deltas have it; checks that each item's events come in their order, under its id and place."""
    output: list[dict[str, Any]] = []
    for event in events:
        kind = event["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert event["output_index"] == len(output)
            assert event["item"]["status"] == "in_progress"
            assert not event["item"].get("content")
            assert not event["item"].get("arguments")
            output.append({**event["item"], "steps": []})
        elif "output_index" in event:
            item = output[event["output_index"]]
            assert event["output_index"] == len(output) - 1
            assert event.get("item_id", item["id"]) == item["id"]
            _step(item, kind, event)
    for item in output:
        _check_steps(item["type"], item.pop("steps"))
    return output


def _step(item: dict[str, Any], kind: str, event: dict[str, Any]) -> None:
    if item["steps"][-1:] != [kind]:
        item["steps"].append(kind)
    if kind == "content_part.added":
        assert event["content_index"] == len(item["content"])
        item["content"].append(event["part"])
    elif kind == "content_part.done":
        assert item["content"][event["content_index"]] == event["part"]
    elif kind.endswith("text.delta"):
        part = item["content"][event["content_index"]]
        part["text"] += event["delta"]
        if event.get("logprobs"):
            part["logprobs"] = part["logprobs"] + event["logprobs"]
    elif kind.endswith("text.done"):
        assert item["content"][event["content_index"]]["text"] == event["text"]
    elif kind == "function_call_arguments.delta":
        item["arguments"] += event["delta"]
    elif kind == "function_call_arguments.done":
        assert (item["name"], item["arguments"]) == (event["name"], event["arguments"])
    elif kind == "output_item.done":
        item["status"] = event["item"]["status"]
        item.update({"encrypted_content": sealed} if (sealed := event["item"].get("encrypted_content")) else {})
        assert {key: value for key, value in item.items() if key != "steps"} == event["item"]


def _check_steps(kind: str, steps: list[str]) -> None:
    if kind == "function_call":
        expected = ["function_call_arguments.delta", "function_call_arguments.done", "output_item.done"]
    else:
        name = "output_text" if kind == "message" else "reasoning_text"
        expected = ["content_part.added", f"{name}.delta", f"{name}.done", "content_part.done", "output_item.done"]
    assert [step for step in expected if not step.endswith("delta") or step in steps] == steps


@pytest.fixture
def api(served: Any) -> Api:
    return Api(served)


@pytest.fixture
def api_with(serving: Callable[..., Any]) -> Callable[..., Api]:
    return lambda *arguments, **config: Api(serving(*arguments, **config))


@pytest.fixture
def tool() -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return {"type": "function", "name": "get_weather", "description": None, "parameters": parameters, "strict": False}
