"""The demo model on a live server: how many of its calls validate, under the grammar and without."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx
import msgspec

from toolglot.bench.results import Figures

_SERVE = (
    "--tool-call-parser",
    "generic",
    "--chat-template",
    "default",
    "--dtype",
    "bfloat16",
    "--log-level",
    "warning",
)
"""The parser with which the demo model calls of itself; half the numbers' width is twice as fast on a CPU."""
_STRICT = ("--tool-strict-level", "parameter")
_FREE = {"TOOLGLOT_ENFORCE_STRICT_TOOL_CALLING": "false"}
_ASK = ("--longest", "600", "--max-tokens", "160")
"""Short requests: the model reads 200 of them in minutes."""


def live(arguments: Namespace) -> int:
    """Ask, and print the figures. Exit code 1: a call under the grammar does not validate, or there was none."""
    with serving(_STRICT, {}) as url:
        held = {
            "held, whole": ask(url, arguments.requests),
            "held, streamed": ask(url, arguments.requests, "--stream"),
        }
    with serving((), _FREE) as url:
        free = {"free, whole": ask(url, arguments.requests)}
    for name, found in {**held, **free}.items():
        share = "nothing to count" if found.schema_accuracy is None else f"{100 * found.schema_accuracy:.1f} %"
        reasons = ", ".join(f"{count} {reason}" for reason, count in found.finish_reasons.items())
        counts = f"{found.valid} of {found.calls} replies with calls"
        print(f"{name}: schema accuracy {share} ({counts}); finish reasons: {reasons}; {found.errors} errors")
    return int(any(found.schema_accuracy != 1 or found.errors for found in held.values()))


def ask(url: str, requests: int, *flags: str) -> Figures:
    """Run ``toolglot bench schema``."""
    command = [sys.executable, "-m", "toolglot", "bench", "schema", "--base-url", f"{url}/v1", "--json"]
    command += ["--requests", str(requests), *_ASK, *flags]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603  # ourselves
    return msgspec.json.decode(done.stdout, type=Figures)


@contextmanager
def serving(flags: tuple[str, ...], environment: Mapping[str, str]) -> Iterator[str]:
    """A server with the demo model, and its address once it answers."""
    port = _free_port()
    threads = ("--threads", str(os.cpu_count() or 1))
    command = [sys.executable, "-m", "toolglot", "serve", "--port", str(port), *_SERVE, *threads, *flags]
    with subprocess.Popen(command, env={**os.environ, **environment}) as server:  # noqa: S603  # ourselves
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(server, f"{url}/health")
            yield url
        finally:
            server.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(server: subprocess.Popen[bytes], url: str) -> None:
    """The first start fetches the model: only the server's end ends the wait."""
    while server.poll() is None:
        try:
            httpx.get(url, timeout=5).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"the server ended with exit code {server.returncode}")
