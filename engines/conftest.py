"""Real engines with the demo model, and toolglot in front of them: ``nox -s engines``."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from toolglot.checkpoints import demo, resolve

MODEL = "demo"
SCRIPT = Path(__file__).with_name("llamacpp_script.py")
VLLM = (
    *(
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--dtype",
        "float32",
        "--max-model-len",
        "2048",
        "--max-num-seqs",
        "8",
    ),
    *("--enforce-eager", "--enable-prompt-tokens-details", "--host", "127.0.0.1", "--served-model-name", MODEL),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--vllm-python", help="the Python of an environment with vLLM; without it, vLLM is left out")


class Process:
    """A server that can be killed and started again, on the same port."""

    def __init__(self, command: Sequence[str], port: int, path: str, **environment: str) -> None:
        self._command = command
        self._environment = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
        self.url = f"http://127.0.0.1:{port}"
        self._path = path

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, env=self._environment, start_new_session=True)
        for _ in range(3000):
            if self._process.poll() is not None:
                pytest.fail(f"{self._command} ended")
            try:
                if httpx.get(self.url + self._path, timeout=5).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        pytest.fail(f"{self._command} did not start in five minutes")

    def kill(self) -> None:
        """It, and all that it started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Served:
    """An engine, and toolglot in front of it."""

    def __init__(self, kind: str, engine: Process, server: Process) -> None:
        self.kind = kind
        self.engine = engine
        self.url = server.url

    def busy(self) -> bool:
        """Whether the engine works on a request."""
        if self.kind == "llamacpp":
            return any(slot["is_processing"] for slot in httpx.get(f"{self.engine.url}/slots").json())
        lines = httpx.get(f"{self.engine.url}/metrics").text.splitlines()
        return any(line.startswith("vllm:num_requests_running{") and not line.endswith(" 0.0") for line in lines)


@pytest.fixture(scope="session", params=["llamacpp", "vllm"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    checkpoint, port = resolve(None), free_port()
    engine = _engine(request, checkpoint.path, port)
    engine.start()
    gateway_port = free_port()
    presets: dict[str, Any] = {**checkpoint.presets}
    flags = [word for name, value in presets.items() for word in (f"--{name.replace('_', '-')}", value)]
    known = MODEL if request.param == "vllm" else demo.fetch().stem
    command = [sys.executable, "-m", "toolglot", "serve", str(checkpoint.path), "--engine", request.param]
    command += ["--engine-url", engine.url, "--engine-model", known, "--served-model-name", MODEL, *flags]
    server = Process([*command, "--enable-auto-tool-choice", "--port", str(gateway_port)], gateway_port, "/ready")
    try:
        server.start()
        yield Served(request.param, engine, server)
    finally:
        server.kill()
        engine.kill()


@pytest.fixture
async def client(served: Served) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0, timeout=600) as one:
        yield one


def _engine(request: pytest.FixtureRequest, path: Path, port: int) -> Process:
    if request.param == "llamacpp":
        if importlib.util.find_spec("xllamacpp") is None:
            pytest.skip("xllamacpp is not installed")
        return Process([sys.executable, str(SCRIPT), str(demo.fetch()), str(port)], port, "/health")
    python = request.config.getoption("--vllm-python")
    if python is None:
        pytest.skip("--vllm-python is not given")
    settings = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    settings["PYTHONPATH"] = ""
    return Process([python, *VLLM, "--model", str(path), "--port", str(port)], port, "/health", **settings)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
