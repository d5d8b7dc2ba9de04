"""``toolglot bench schema`` against a server that answers from a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

Toolglot = Callable[..., int]
GOOD, BAD = '{"a": 1}', '{"a": "x"}'
PARAMETERS = {"type": "dict", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


class Script(ThreadingHTTPServer):
    """Calls the tool ``add`` with ``arguments``; ``asked`` are the requests."""

    arguments = GOOD
    status = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Script

    def do_GET(self) -> None:
        self._answer(json.dumps({"data": [{"id": "scripted"}]}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        call = {"index": 0, "id": "c", "function": {"name": "add", "arguments": self.server.arguments}}
        key = "delta" if body.get("stream") else "message"
        reply = json.dumps({"choices": [{key: {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})
        self._answer(f"data: {reply}\n\ndata: [DONE]\n\n" if body.get("stream") else reply)

    def _answer(self, text: str) -> None:
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Script]:
    with Script() as script:
        thread = threading.Thread(target=script.serve_forever, daemon=True)
        thread.start()
        yield script
        script.shutdown()
        thread.join()


@pytest.fixture
def bench(toolglot: Toolglot, server: Script, tmp_path: Path) -> Callable[..., int]:
    """Runs ``toolglot bench schema`` with three requests that offer ``add``."""
    function = {"name": "add", "description": "Add.", "parameters": PARAMETERS}
    records = [
        {"id": f"q{number}", "question": [[{"role": "user", "content": "1 + 1?"}]], "function": [function]}
        for number in range(3)
    ]
    (tmp_path / "BFCL_v4_simple.json").write_text("\n".join(map(json.dumps, records)))
    fixed = ("--base-url", f"http://127.0.0.1:{server.server_port}/v1/", "--bfcl", str(tmp_path), "--requests", "3")
    return lambda *flags: toolglot("bench", "schema", *fixed, *flags)


@pytest.mark.parametrize("flags", [(), ("--stream",)], ids=["whole", "streamed"])
def test_calls_are_checked(
    bench: Callable[..., int], server: Script, flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(*flags, "--at-least", "100") == 0
    assert "schema accuracy: 100.00 % (3 of 3 replies with calls)" in capsys.readouterr().out
    assert [body["model"] for body in server.asked] == ["scripted"] * 3
    (tool,) = server.asked[0]["tools"]
    assert tool["function"]["parameters"]["type"] == "object"

    server.arguments = BAD
    assert bench(*flags, "--at-least", "100") == 1
    printed = capsys.readouterr().out
    assert "schema accuracy: 0.00 %" in printed
    assert "the arguments of add are not valid" in printed


def test_settings_go_into_every_request(bench: Callable[..., int], server: Script) -> None:
    bench("--max-tokens", "7", "--tool-choice", "required", "--extra-body", '{"seed": 5}', "--model", "mine")

    wanted = {"model": "mine", "max_tokens": 7, "tool_choice": "required", "seed": 5, "temperature": 0}
    assert all(wanted.items() <= body.items() for body in server.asked)


def test_a_run_goes_on_where_it_was_interrupted(
    bench: Callable[..., int], server: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.jsonl"
    bench("--results", str(path))
    kept = path.read_text().splitlines()
    path.write_text(kept[0] + "\n")
    server.asked.clear()
    bench("--results", str(path), "--reference", str(path), "--json")

    assert len(server.asked) == 2
    assert len(path.read_text().splitlines()) == 3
    figures = json.loads(capsys.readouterr().out.partition("{")[2].join(("{", "")))
    assert (figures["requests"], figures["trigger_similarity"]) == (3, 1.0)


def test_a_server_s_errors_are_counted_and_asked_again(
    bench: Callable[..., int], server: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.jsonl"
    server.status = 503
    assert bench("--model", "m", "--results", str(path), "--at-least", "0") == 1
    assert "3 requests, 3 errors" in capsys.readouterr().out
    server.status = 200
    bench("--results", str(path))
    assert "3 requests, 0 errors" in capsys.readouterr().out


def test_bad_usage_is_refused(bench: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    for flags, reason in (
        (("--requests", "9"), "there are only 3 such requests"),
        (("--reference", "/no/such/file"), "No such file"),
        (("--at-least", "101"), "is not a number from 0 to 100"),
        (("--base-url", "http://127.0.0.1:9/v1"), "no list of models"),
        (("--extra-body", "[]"), "a JSON object is wanted"),
    ):
        assert bench(*flags) == 2
        assert reason in capsys.readouterr().err


def test_what_is_missing_is_named(refused: Callable[..., str]) -> None:
    assert "toolglot bench schema" in refused("bench")
    assert "--base-url is missing" in refused("bench", "schema")
