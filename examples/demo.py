"""What ``nox -s demo`` runs: toolglot's server with the demo model, and one request to it. ``--once``: then exit."""

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
from pathlib import Path
from typing import Any

import jsonschema_rs

HOST = "127.0.0.1"
WEATHER = Path(__file__).with_name("weather.py")


def main(once: bool) -> int:
    """Serve, ask, and go on serving until Ctrl-C. Returns the exit code: 0 when the call came and validates."""
    port = free_port(8000)
    serve = ["serve", "--host", HOST, "--port", str(port)]
    with subprocess.Popen([sys.executable, "-m", "toolglot", *serve]) as server:
        try:
            wait_until_ready(server, f"http://{HOST}:{port}/health")
            example = ask(f"http://{HOST}:{port}/v1")
            print_commands(serve, f"http://{HOST}:{port}/v1/chat/completions", example["request"])
            if not once:
                print("\nServing until Ctrl-C.", flush=True)
                server.wait()
        except KeyboardInterrupt:
            print("\nStopping.")
        finally:
            server.terminate()
    return 0


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
    os.environ["OPENAI_BASE_URL"] = base_url
    example = runpy.run_path(str(WEATHER))
    for arguments in (example["call"].arguments, example["streamed"]):
        jsonschema_rs.validate(example["parameters"], json.loads(arguments))
    if example["streamed"] != example["call"].arguments:
        raise SystemExit("the streamed call differs from the whole one")
    return example


def print_commands(serve: list[str], url: str, request: dict[str, Any]) -> None:
    """Print the two commands that do the same by hand."""
    program = os.path.relpath(Path(sys.executable).with_name("toolglot"))
    body = json.dumps(request, ensure_ascii=False)
    print("\nThe same by hand:")
    print(shlex.join([program, *serve]))
    print(shlex.join(["curl", url, "-H", "Content-Type: application/json", "-d", body]))


if __name__ == "__main__":
    sys.exit(main("--once" in sys.argv[1:]))
