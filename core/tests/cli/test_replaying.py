"""``toolglot serve --engine replay:FILE``: what is refused, and a server that was started so."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

Refused = Callable[..., str]

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
SLOW = "one two three four five six seven eight nine ten"
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}


def test_an_engine_that_is_none_is_refused(refused: Refused) -> None:
    assert "--engine llama: use local, replay:FILE, or one of vllm, sglang, llamacpp, openai" in refused(
        "serve", "--engine", "llama"
    )
    assert "--engine replay:: use local" in refused("serve", "--engine", "replay:")
    assert "--engine replay:nowhere: no such file" in refused("serve", "--engine", "replay:nowhere")


def test_a_tokenizer_is_for_replays(refused: Refused) -> None:
    assert "--tokenizer is for other engines" in refused("serve", "--tokenizer", "x")


def test_what_needs_a_checkpoint_is_refused_without_one(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text('{"output": "Hi"}\n')
    replay = ("serve", "--engine", f"replay:{path}", "--port", str(free_port()))
    assert "--tool-call-parser auto needs MODEL or --tokenizer" in refused(*replay, "--tool-call-parser", "auto")
    assert "'hf' needs a tokenizer" in refused(*replay, "--tool-call-parser", "hf")
    assert "--tokenizer nowhere: no such directory" in refused(*replay, "--tokenizer", "nowhere")
    path.write_text("{}")
    assert "outputs.jsonl:1" in refused(*replay)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server as a user starts it, with a config file; its URL, and its process."""
    folder, port = tmp_path_factory.mktemp("replay"), free_port()
    outputs = [{"output": CALL, "chunks": 4}, {"output": SLOW, "delay": 0.03, "match": "slowly"}]
    (folder / "outputs.jsonl").write_text("\n".join(map(json.dumps, outputs)))
    (folder / "toolglot.toml").write_text(
        f'engine = "replay:{folder}/outputs.jsonl"\ntool-call-parser = "hermes"\nenable-auto-tool-choice = true\n'
        f'port = {port}\napi-key = "sesame"\nlog-format = "json"\nserved-model-name = "prepared"\n'
    )
    command = [sys.executable, "-m", "toolglot", "serve", "--config", str(folder / "toolglot.toml")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        url = f"http://127.0.0.1:{port}"
        wait_until_ready(url, server)
        yield url, server
        server.kill()


def wait_until_ready(url: str, server: subprocess.Popen[str]) -> None:
    for _ in range(600):
        assert server.poll() is None
        try:
            if httpx.get(f"{url}/ready").status_code == 200:
                return
        except httpx.ConnectError:
            pass
        time.sleep(0.1)
    pytest.fail("the server did not start within a minute")


def asked(text: str) -> dict[str, object]:
    return {"model": "prepared", "messages": [{"role": "user", "content": text}], "tools": [TOOL]}


def test_it_serves_until_it_is_told_to_stop_and_then_finishes_what_runs(
    process: tuple[str, subprocess.Popen[str]],
) -> None:
    url, server = process
    with httpx.Client(base_url=url, headers={"Authorization": "Bearer sesame", "X-Request-Id": "mine"}) as client:
        assert httpx.get(f"{url}/v1/models").status_code == 401
        (choice,) = client.post("/v1/chat/completions", json=asked("quickly")).json()["choices"]
        assert choice["message"]["tool_calls"][0]["function"]["name"] == "get_weather"

        body = {**asked("slowly"), "stream": True}
        with client.stream("POST", "/v1/chat/completions", json=body) as response:
            lines = response.iter_lines()
            events = [next(lines)]
            server.send_signal(signal.SIGTERM)
            time.sleep(0.2)
            late = client.post("/v1/chat/completions", json=asked("late"))
            assert (late.status_code, late.json()["error"]["code"]) == (503, "shutting_down")
            assert client.get("/ready").status_code == 503
            events += [line for line in lines if line]
    assert events[-1] == "data: [DONE]"
    deltas = [json.loads(event.removeprefix("data: "))["choices"][0]["delta"] for event in events[:-1] if event]
    assert "".join(delta.get("content", "") for delta in deltas) == SLOW

    _, log = server.communicate(timeout=20)
    assert server.returncode == -signal.SIGTERM
    said = [json.loads(line) for line in log.splitlines()]
    requests = [one for one in said if one["message"] == "request" and one["route"] == "/v1/chat/completions"]
    assert [one["status"] for one in requests] == [200, 503, 200]
    assert {one["request_id"] for one in requests} == {"mine"}
    assert "slowly" not in log
