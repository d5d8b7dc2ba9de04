"""The parsers that are measured, and vLLM's beside them where ``--vllm-python`` says where it is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.vllm_worker import VllmWorker
from toolglot import Parser, load_parser, parser_names, plugins
from toolglot.errors import PluginError


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--vllm-python", help="a Python with vLLM: its parsers read the same tokens in the same run")


def _names() -> list[str]:
    """One name of each parser."""
    found = {id(plugins.load(name)[0]): name for name in sorted(parser_names(), reverse=True)}
    return sorted(found.values())


@pytest.fixture(params=_names())
def parser(request: pytest.FixtureRequest) -> Parser:
    try:
        loaded = load_parser(request.param)
    except PluginError as error:  # its format is that of a checkpoint
        pytest.skip(str(error))
    if not hasattr(loaded.plugin, "form"):
        pytest.skip(f"parser {request.param!r} declares no format, so no output of it can be made")
    return loaded


@pytest.fixture(scope="session")
def vllm(request: pytest.FixtureRequest) -> Iterator[VllmWorker | None]:
    python = request.config.getoption("--vllm-python")
    if python is None:
        yield None
        return
    with VllmWorker(python) as worker:
        yield worker
