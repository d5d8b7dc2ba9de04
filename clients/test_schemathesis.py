"""``schemathesis``: requests that ``/openapi.json`` admits, and some that it does not. No answer is a 5xx."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from clients import weather
from clients.bodies import GOOD
from clients.serving import MODEL, PATIENCE, Served, serving

CHECKS = "not_a_server_error,content_type_conformance,response_schema_conformance"
EXAMPLES = 50
"""How many requests are made up for each operation, besides the more than a hundred that go through its fields."""
NEEDED = {
    "/v1/responses": "input",
    "/v1/responses/input_tokens": "input",
    "/v1/toolglot/parse": "text",
    "/tokenize": "messages",
}
"""Fields without which nearly every request is refused, though the description does not demand them."""
NEVER_WELL = {("POST", "/v1/responses/{id}/cancel")}
"""Nothing runs in the background, so there is nothing to cancel."""


def prepare(document: dict[str, Any], response_id: str, *, streams: bool) -> None:
    """Give examples, around which schemathesis makes up its requests: without, it hardly finds one that is served.

    With ``streams`` only the operations that stream are left, and only requests for streams, which would be rare.
    """
    known = {"id": response_id, "name": MODEL}
    if streams:
        document["paths"] = {path: item for path, item in document["paths"].items() if "text/event-stream" in str(item)}
    for path, item in document["paths"].items():
        for operation in item.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    parameter["example"] = known[parameter["name"]]
            if "requestBody" in operation:
                _prepare_body(document, path, operation["requestBody"]["content"]["application/json"], streams)


def _prepare_body(document: dict[str, Any], path: str, content: dict[str, Any], streams: bool) -> None:
    schema = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
    fields, required = schema["properties"], {*schema.get("required", ()), *filter(None, [NEEDED.get(path)])}
    for name, value in GOOD[path].items():
        if name in fields:
            fields[name]["examples"] = [value]
    if path in NEEDED:
        field = fields[NEEDED[path]]
        field["anyOf"] = [one for one in field["anyOf"] if one != {"type": "null"}]
    if streams:
        fields["stream"] = {"const": True}
        required.add("stream")
    schema["required"] = sorted(required)
    content["example"] = {**GOOD[path], **({"stream": True} if streams else {})}


@pytest.mark.parametrize("streams", [False, True], ids=["all", "streams"])
def test_no_request_is_an_error_of_the_server_s(streams: bool, tmp_path: Path) -> None:
    """Answers are also what the description says; it does not say which requests are refused."""
    call = weather.written("hermes", {"name": "get_weather", "arguments": {"city": "Oslo"}})
    outputs = [{"output": f"<think>Hm.</think>Hello. {call}", "chunks": 3, "unchecked": True}]
    with serving(outputs, "hermes") as served:
        made = httpx.post(f"{served.url}/v1/responses", json=GOOD["/v1/responses"] | {"store": True}, timeout=PATIENCE)
        document = httpx.get(f"{served.url}/openapi.json", timeout=PATIENCE).json()
        prepare(document, made.json()["id"], streams=streams)
        run(served, document, tmp_path)
        check(served, document)


def run(served: Served, document: dict[str, Any], folder: Path) -> None:
    """Raises AssertionError: schemathesis is not content."""
    (folder / "openapi.json").write_text(json.dumps(document))
    phases = ("--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES), "--seed", "1")
    how = ("--continue-on-failure", "--no-shrink", "--request-timeout", str(PATIENCE), "--checks", CHECKS)
    command = ["schemathesis", "run", "openapi.json", "--url", served.url, *phases, *how]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout


def check(served: Served, document: dict[str, Any]) -> None:
    """Raises AssertionError: the server itself tells of a 5xx, or of an operation that never went well."""
    statuses = served.statuses()
    assert not [one for one in statuses.items() if max(one[1]) >= 500]
    operations = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert {one for one in operations if 200 not in statuses.get(one, ())} <= NEVER_WELL
    assert served.wait_idle() == 0
    assert "Traceback" not in served.log
    assert " ERROR " not in served.log
