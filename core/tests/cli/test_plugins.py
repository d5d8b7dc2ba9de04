"""Choosing a parser on the command line: what is installed, and files."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from toolglot import plugins
from toolglot.cli import main

Refused = Callable[..., str]


@pytest.fixture(params=["parse", "render", "serve"])
def command(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def _two_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two distributions that each claim ``twice``, and one that offers ``once``."""

    class Entry:
        def __init__(self, name: str, distribution: str) -> None:
            self.name = name
            self.dist = type("Distribution", (), {"name": distribution, "version": "1.2"})

    entries = [Entry("once", "one"), Entry("twice", "one"), Entry("twice", "two")]
    monkeypatch.setattr(plugins.importlib_metadata, "entry_points", lambda group: entries)


@pytest.mark.usefixtures("_two_packages")
def test_parsers_are_listed_with_their_conflicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parsers"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows == [
        ["NAME", "DISTRIBUTION", "VERSION", "CONFLICT"],
        ["once", "one", "1.2"],
        ["twice", "one", "1.2", "one", "1.2,", "two", "1.2"],
    ]


@pytest.mark.usefixtures("_two_packages")
def test_parsers_are_listed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parsers", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[1] == {
        "name": "twice",
        "distribution": "one",
        "version": "1.2",
        "conflict": ["one 1.2", "two 1.2"],
    }


def test_an_empty_list_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plugins.importlib_metadata, "entry_points", lambda group: [])

    assert main(["parsers"]) == 0
    assert "pip install toolglot-hermes" in capsys.readouterr().out


@pytest.mark.usefixtures("_two_packages")
def test_an_unknown_parser_is_answered_with_those_there_are(command: str, refused: Refused) -> None:
    said = refused(command, "--tool-call-parser", "onse")

    assert "unknown tool call parser 'onse'; did you mean once?" in said


@pytest.mark.usefixtures("_two_packages")
def test_a_name_that_two_packages_claim_is_refused_with_both(command: str, refused: Refused) -> None:
    assert "claimed by one 1.2 and two 1.2" in refused(command, "--tool-call-parser", "twice")


@pytest.mark.usefixtures("_two_packages")
@pytest.mark.parametrize("flag", ["--enable-auto-tool-choice", "--reasoning-parser=once"])
def test_flags_of_serve_that_need_a_parser_say_so(flag: str, refused: Refused) -> None:
    said = refused("serve", "model", flag)

    assert f"{flag.partition('=')[0]} needs --tool-call-parser; one of: once, twice" in said


@pytest.mark.usefixtures("_two_packages")
@pytest.mark.parametrize("word", ["parse", "render"])
def test_parse_and_render_need_a_parser(word: str, refused: Refused) -> None:
    assert "--tool-call-parser is missing; one of: once, twice" in refused(word)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "there is no such file"),
        ("import toolglot\n\ndef broken(:\n", "invalid syntax in line 3 of"),
        ("import nothing_of_this_name", "No module named 'nothing_of_this_name'"),
        ("answer = 42", "it registers no parser"),
    ],
)
def test_a_plugin_file_that_does_not_load_is_named(
    text: str | None, reason: str, command: str, tmp_path: Path, refused: Refused
) -> None:
    path = tmp_path / "broken.py"
    if text is not None:
        path.write_text(text)

    said = refused(command, "--tool-parser-plugin", str(path), "--tool-call-parser", "x")

    assert f"plugin file {path}: " in said
    assert reason in said


@pytest.mark.usefixtures("_two_packages")
def test_a_file_replaces_an_installed_parser_only_when_told_to(
    toolglot: Callable[..., int], plugin_file: str, refused: Refused, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    path = Path(plugin_file)
    path.write_text(path.read_text().replace('"actions"', '"once"'))
    (tmp_path / "calls.json").write_text('[{"name": "f", "arguments": {}}]')
    flags = ["--tool-parser-plugin", plugin_file, "--tool-call-parser", "once", str(tmp_path / "calls.json")]

    assert "registers 'once', which one 1.2 has too" in refused("render", *flags)
    with caplog.at_level(logging.WARNING, "toolglot"):
        assert toolglot("render", "--replace-parser", *flags) == 0
    assert f"parser 'once' of {plugin_file} replaces the one of one 1.2" in caplog.text
