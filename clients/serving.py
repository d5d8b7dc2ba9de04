"""A server as a user starts it, with prepared outputs in a model's place."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

MODEL = "prepared"
PATIENCE = 120
"""How many seconds an answer, or the end of work, is waited for: what takes as long hangs, on a busy machine too."""


@dataclass(frozen=True)
class Served:
    """A running server."""

    port: int
    process: subprocess.Popen[bytes]
    log_file: Path
    key: str = ""
    """The key that it asks for, if it does."""

    @property
    def url(self) -> str:
        """The server's address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What the server has logged so far."""
        return self.log_file.read_text(errors="replace")

    def metric(self, name: str) -> float:
        """The value of a metric, all of its series together."""
        return sum(map(float, re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", self._metrics(), re.MULTILINE)))

    def statuses(self) -> dict[tuple[str, str], set[int]]:
        """The statuses that each method and path (as the description writes it) has been answered with."""
        found: dict[tuple[str, str], set[int]] = {}
        series = r'^toolglot_http_requests_total\{method="(.*?)",.*route="(.*?)",status="(\d+)"\}'
        for method, route, status in re.findall(series, self._metrics(), re.MULTILINE):
            found.setdefault((method, re.sub(r":\w+}", "}", route)), set()).add(int(status))
        return found

    def count(self, least: int) -> int:
        """How many requests have been answered with this status or a greater one."""
        series = r'^toolglot_http_requests_total\{.*status="(\d+)"\} (\S+)$'
        found = re.findall(series, self._metrics(), re.MULTILINE)
        return int(sum(float(value) for status, value in found if int(status) >= least))

    def _metrics(self) -> str:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return httpx.get(f"{self.url}/metrics", timeout=PATIENCE, headers=headers).text

    def wait_idle(self) -> float:
        """Wait until no reply is being written, but no longer than :data:`PATIENCE`, and return how many still are."""
        end = time.monotonic() + PATIENCE
        while left := self.metric("toolglot_replies_running") + self.metric("toolglot_replies_waiting"):
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        return left


@contextmanager
def serving(outputs: Iterable[Mapping[str, Any]], parser: str, *flags: str) -> Iterator[Served]:
    """A server that replays ``outputs`` in the dialect of ``parser``, once it answers."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outputs.jsonl"
        file.write_text("".join(json.dumps(output) + "\n" for output in outputs))
        replay = ("--engine", f"replay:{file}", "--tool-call-parser", parser, "--enable-auto-tool-choice")
        with started(Path(folder) / "log", *replay, *flags) as served:
            yield served


@contextmanager
def started(log_file: Path, *flags: str, key: str = "", patience: float = PATIENCE) -> Iterator[Served]:
    """A server with these flags, once it answers, for which it has ``patience`` seconds."""
    port = _free_port()
    command = [sys.executable, "-m", "toolglot", "serve", "--port", str(port), "--served-model-name", MODEL, *flags]
    with log_file.open("wb") as log, subprocess.Popen(command, stderr=log, env=os.environ) as process:
        served = Served(port, process, log_file, key)
        try:
            _wait_until_ready(served, patience)
            yield served
        finally:
            process.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(served: Served, patience: float) -> None:
    end = time.monotonic() + patience
    while not _is_ready(served):
        if served.process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the server did not start: {served.log}")
        time.sleep(0.1)


def _is_ready(served: Served) -> bool:
    try:
        return httpx.get(f"{served.url}/ready", timeout=5).status_code == 200
    except httpx.TransportError:
        return False
