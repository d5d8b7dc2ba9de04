"""The parsers that are measured, and vLLM's beside them where ``--vllm-python`` says where it is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.vllm_worker import VllmWorker
from toolglot import Parser, load_parser, parser_names


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--vllm-python", help="a Python with vLLM: its parsers read the same tokens in the same run")


@pytest.fixture(params=sorted(parser_names()))
def parser(request: pytest.FixtureRequest) -> Parser:
    loaded = load_parser(request.param)
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
