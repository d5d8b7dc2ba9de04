from __future__ import annotations

import importlib.util

import pytest


def pytest_collection_modifyitems(items):
    if importlib.util.find_spec("vllm") is None:
        skip = pytest.mark.skip(reason="vLLM is not installed")
        for item in items:
            if item.get_closest_marker("vllm"):
                item.add_marker(skip)
