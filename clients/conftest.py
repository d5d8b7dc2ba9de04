"""One server for each dialect, for all frameworks."""

from __future__ import annotations

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
