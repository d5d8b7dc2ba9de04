"""One server for each dialect, for all frameworks."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from clients import weather
from clients.serving import Served, serving

DIALECTS = ("hermes", "kimi_k2")


@pytest.fixture(scope="session", params=DIALECTS)
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    """A server whose replies make an agent call two functions, in one dialect after the other."""
    with serving(weather.outputs(request.param), request.param) as server:
        yield server
        assert "Traceback" not in server.log


@pytest.fixture(autouse=True)
def _fresh() -> None:
    weather.forget()


@pytest.fixture(scope="session", autouse=True)
def _many_files() -> None:
    """Let this process, and the servers that it starts, have a thousand connections: 1024 files are a usual limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
