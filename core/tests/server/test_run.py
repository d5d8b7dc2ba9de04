"""The server as a process of its own: it listens where it was told, and ends without cutting replies."""

from __future__ import annotations

import importlib.util
import json
import logging
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

TEXT = "one two three four five six seven eight nine ten"


def serve(port: int, delay: float, patience: int) -> None:
    """Serve ``TEXT``, with so many seconds before each token; runs in the process."""
    from toolglot.prompts import PromptRenderer
    from toolglot.server import ServerConfig, create_app, run

    spec = importlib.util.spec_from_file_location("scripted", Path(__file__).with_name("conftest.py"))
    scripted = importlib.util.module_from_spec(spec)
    sys.modules["scripted"] = scripted
    spec.loader.exec_module(scripted)
    tokenizer = scripted.make_tokenizer()

    class Engine(scripted.ScriptedEngine):
        async def stop(self) -> None:
            sys.stdout.write("engine stopped")

    engine = Engine(tokenizer)
    engine.say(TEXT, delay=delay)
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(name)s")
    config = ServerConfig(port=port, shutdown_timeout=patience)
    prompts = PromptRenderer(tokenizer, chat_template=scripted.TEMPLATE)
    run(create_app(config, engine=engine, tokenizer=tokenizer, prompts=prompts, parser=None), config)


@pytest.fixture
def process(request):
    delay, patience = getattr(request, "param", (0.02, 30))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, __file__, str(port), str(delay), str(patience)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    process.url = f"http://127.0.0.1:{port}"
    with process:
        yield process
        process.kill()


def wait_until_healthy(process) -> None:
    for _ in range(600):
        assert process.poll() is None
        try:
            assert httpx.get(f"{process.url}/health").status_code == 200
        except httpx.ConnectError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server did not start within a minute")


def test_a_stream_that_runs_when_the_server_is_told_to_stop_is_finished(process):
    wait_until_healthy(process)
    body = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    with httpx.stream("POST", f"{process.url}/v1/chat/completions", json=body) as response:
        lines = response.iter_lines()
        events = [next(lines)]
        process.send_signal(signal.SIGTERM)
        events += [line for line in lines if line]
    assert events[-1] == "data: [DONE]"
    deltas = [json.loads(event.removeprefix("data: "))["choices"][0]["delta"] for event in events[:-1] if event]
    assert "".join(delta.get("content", "") for delta in deltas) == TEXT
    output, _ = process.communicate(timeout=20)
    assert "engine stopped" in output
    assert process.returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("process", "signals"), [((1, 1), 1), ((1, 30), 2)], ids=["time is up", "a second signal"], indirect=["process"]
)
def test_what_is_cut_in_the_end_is_cut_at_once_and_logged(process, signals):
    wait_until_healthy(process)
    body = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    with httpx.stream("POST", f"{process.url}/v1/chat/completions", json=body) as response:
        lines = response.iter_lines()
        next(lines)
        told = time.monotonic()
        for _ in range(signals):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
            list(lines)
    cut = time.monotonic()
    output, _ = process.communicate(timeout=20)
    assert cut - told < 2
    assert "engine stopped" in output
    assert output.splitlines().count("toolglot.requests") == 1


if __name__ == "__main__":
    serve(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
