"""What the tests across packages share: the repository, and one server with the demo model for all of them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def demo() -> ModuleType:
    """``examples/demo.py``, imported."""
    spec = importlib.util.spec_from_file_location("demo", ROOT / "examples/demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def demo_server(demo: ModuleType) -> Iterator[str]:
    """The base URL of ``toolglot serve`` without a model, started as a user starts it."""
    port = demo.free_port(8000)
    command = [sys.executable, "-m", "toolglot", "serve", "--port", str(port), "--log-level", "warning"]
    with subprocess.Popen(command) as server:
        try:
            demo.wait_until_ready(server, f"http://127.0.0.1:{port}/health")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
