"""The public API is what `toolglot` exports, and importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

import toolglot
import toolglot.formats


@pytest.mark.parametrize("module", [toolglot, toolglot.formats])
def test_all_names_are_exported_and_sorted(module):
    assert list(module.__all__) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_parsing_imports_nothing_heavy():
    code = """
import sys, toolglot
toolglot.load_parser("hermes").parse('<tool_call>{"name": "f", "arguments": {}}</tool_call>')
heavy = ("torch", "transformers", "xgrammar", "starlette", "jinja2", "numpy")
print([name for name in heavy if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"
