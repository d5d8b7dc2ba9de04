"""What the command line's tests share: a plugin file, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolglot import plugins
from toolglot.cli import main

PLUGIN = """
from toolglot import register_parser
from toolglot.formats import Calls, Frame, JsonCall, WireFormat, WireFormatParser

FORMAT = WireFormat(calls=(Calls(body=JsonCall(), call=Frame(open=("<action>",), close=("</action>",))),))
register_parser("actions", WireFormatParser(FORMAT))
"""


@pytest.fixture(autouse=True)
def _no_plugin_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugin files that other tests loaded stay loaded for the life of the process."""
    monkeypatch.setattr(plugins, "_files", {})


@pytest.fixture
def toolglot(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs a command as a new process would: without the plugin files of earlier ones. Returns the exit code."""

    def run(*argv: str) -> int:
        monkeypatch.setattr(plugins, "_files", {})
        return main(argv)

    return run


@pytest.fixture
def plugin_file(tmp_path: Path) -> str:
    """The path of a file that registers the parser ``actions``."""
    path = tmp_path / "actions.py"
    path.write_text(PLUGIN)
    return str(path)


@pytest.fixture
def refused(toolglot: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command that must be refused, and returns its one line."""

    def run(*argv: str) -> str:
        code = toolglot(*argv)

        out, err = capsys.readouterr()
        assert code == 2
        assert out == ""
        assert err.startswith("toolglot: error: ")
        assert err.count("\n") == 1
        return err

    return run
