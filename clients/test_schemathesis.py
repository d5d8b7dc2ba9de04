"""``schemathesis``: requests that ``/openapi.json`` admits, and some that it does not. No answer is a 5xx."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from clients import weather
from clients.serving import serving

SECONDS = 45
CHECKS = "not_a_server_error,content_type_conformance,response_schema_conformance"


def as_it_is(document: dict[str, Any]) -> dict[str, Any]:
    return document


def streams_only(document: dict[str, Any]) -> dict[str, Any]:
    """The operations that stream, and only requests for streams, which would be rare otherwise."""
    bodies = [one for one in document["components"]["schemas"].values() if "stream" in one.get("properties", {})]
    for body in bodies:
        body["properties"]["stream"] = {"const": True}
        body["required"] = [*body.get("required", []), "stream"]
    document["paths"] = {path: item for path, item in document["paths"].items() if "text/event-stream" in str(item)}
    return document


@pytest.mark.parametrize("change", [as_it_is, streams_only])
def test_no_request_is_an_error_of_the_server_s(
    change: Callable[[dict[str, Any]], dict[str, Any]], tmp_path: Path
) -> None:
    """Answers are also what the description says; it does not say which requests are refused."""
    call = weather.written("hermes", {"name": "get_weather", "arguments": {"city": "Oslo"}})
    outputs = [{"output": f"<think>Hm.</think>Hello. {call}", "chunks": 3, "unchecked": True}]
    with serving(outputs, "hermes") as served:
        document = change(httpx.get(f"{served.url}/openapi.json").json())
        (tmp_path / "openapi.json").write_text(json.dumps(document))
        phases = ("--phases", "coverage,fuzzing", "--max-time", str(SECONDS), "--max-examples", "50", "--seed", "1")
        how = ("--continue-on-failure", "--no-shrink", "--request-timeout", "30", "--checks", CHECKS)
        command = ["schemathesis", "run", "openapi.json", "--url", served.url, *phases, *how]
        done = subprocess.run(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
        assert served.metric("toolglot_http_requests_total") > 200
        assert served.wait_idle() == 0
        assert "Traceback" not in served.log
