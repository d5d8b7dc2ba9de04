"""What ``nox -s demo`` runs: toolglot's server with the demo model, and the examples. ``--once``: then exit."""

from __future__ import annotations

import json
import os
import runpy
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema_rs

HOST = "127.0.0.1"
WEATHER = Path(__file__).with_name("weather.py")
AUTO = Path(__file__).with_name("auto.py")
GENERIC = ("--tool-call-parser", "generic")
"""How a model is served that has no format of its own for calls."""


def main(once: bool) -> int:
    """Serve, ask, and go on serving until Ctrl-C. Returns the exit code: 0 when the calls came and validate."""
    serve = ["serve", "--host", HOST, "--port", str(free_port(8000))]
    try:
        with serving(serve) as (server, base_url):
            example = ask(base_url)
            decide()
            print_commands(serve, f"{base_url}/chat/completions", example["request"])
            if not once:
                print("\nServing until Ctrl-C.", flush=True)
                server.wait()
    except KeyboardInterrupt:
        print("\nStopping.")
    return 0


@contextmanager
def serving(serve: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The server that these arguments start, which ends with a port, and its base URL once it answers."""
    address = f"http://{HOST}:{serve[-1]}"
    with subprocess.Popen([sys.executable, "-m", "toolglot", *serve]) as server:
        try:
            wait_until_ready(server, f"{address}/health")
            yield server, f"{address}/v1"
        finally:
            server.terminate()


def free_port(wanted: int) -> int:
    """``wanted``, or when it is taken, a port that the system chooses."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise SystemExit("no free port")


def wait_until_ready(server: subprocess.Popen[bytes], url: str) -> None:
    """Return when ``url`` answers. The first start fetches the model, so only the server's end ends the wait."""
    while server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"the server ended with exit code {server.returncode}")


def ask(base_url: str) -> dict[str, Any]:
    """Run the README's example against the server, check its calls, and return its variables."""
    example = run(WEATHER, base_url)
    for arguments in (example["call"].arguments, example["streamed"]):
        jsonschema_rs.validate(example["parameters"], json.loads(arguments))
    if example["streamed"] != example["call"].arguments:
        raise SystemExit("the streamed call differs from the whole one")
    return example


def decide() -> None:
    """Let the model decide between a call and an answer, on a server that asks any model for calls."""
    with serving(["serve", *GENERIC, "--log-level", "warning", "--host", HOST, "--port", str(free_port(0))]) as served:
        check_decisions(run(AUTO, served[1]))


def check_decisions(example: dict[str, Any]) -> None:
    """Raise SystemExit unless the first question got calls and the second an answer; ValidationError for a bad call."""
    called, answered = example["replies"]
    if not called.tool_calls:
        raise SystemExit(f"the model answered where it should call: {called.content!r}")
    if answered.tool_calls or not answered.content:
        raise SystemExit(f"the model called where it should answer: {answered.tool_calls!r}")
    for call in called.tool_calls:
        jsonschema_rs.validate(example["parameters"], json.loads(call.function.arguments))


def run(example: Path, base_url: str) -> dict[str, Any]:
    """Run an example against the server, and return its variables."""
    os.environ["OPENAI_BASE_URL"] = base_url
    return runpy.run_path(str(example))


def print_commands(serve: list[str], url: str, request: dict[str, Any]) -> None:
    """Print the two commands that do the same by hand."""
    program = os.path.relpath(Path(sys.executable).with_name("toolglot"))
    body = json.dumps(request, ensure_ascii=False)
    print("\nThe same by hand:")
    print(shlex.join([program, *serve]))
    print(shlex.join(["curl", url, "-H", "Content-Type: application/json", "-d", body]))


if __name__ == "__main__":
    sys.exit(main("--once" in sys.argv[1:]))
