"""``toolglot new-plugin``: a package that works as it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolglot.cli import main

Refused = Callable[..., str]


def test_the_package_keeps_every_law_without_being_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLGLOT_EXAMPLES", "2")
    folder = tmp_path / "toolglot-my-format"

    assert main(["new-plugin", "my_format", "--into", str(tmp_path)]) == 0
    assert f"toolglot check {folder}" in capsys.readouterr().out
    assert main(["check", str(folder)]) == 0

    heading, *laws = capsys.readouterr().out.splitlines()
    assert heading == f"my_format, from {folder}"
    assert len(laws) == 10
    assert all("  held (" in law for law in laws)


def test_what_is_to_be_filled_in_is_marked(tmp_path: Path) -> None:
    main(["new-plugin", "my_format", "--into", str(tmp_path)])

    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    marked = [path.name for path in files if "CHANGE ME" in path.read_text()]
    assert marked == ["README.md", "pyproject.toml", "__init__.py", "made.jsonl", "test_conformance.py"]
    assert [path.name for path in files if path.name not in marked] == ["py.typed"]
    assert not any("$" in path.read_text() for path in files)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ((), "NAME is missing"),
        (("my-format",), "'my-format' is no name for a parser"),
        (("MyFormat",), "'MyFormat' is no name for a parser"),
        (("2fast",), "'2fast' is no name for a parser"),
        (("../up",), "'../up' is no name for a parser"),
        (("hermes",), "a parser 'hermes' is installed already"),
    ],
)
def test_a_name_that_no_parser_can_have_is_refused(
    name: tuple[str, ...], said: str, refused: Refused, tmp_path: Path
) -> None:
    assert said in refused("new-plugin", *name, "--into", str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(refused: Refused, tmp_path: Path) -> None:
    mine = tmp_path / "toolglot-my-format" / "README.md"
    mine.parent.mkdir()
    mine.write_text("mine")

    assert "File exists; nothing is overwritten" in refused("new-plugin", "my_format", "--into", str(tmp_path))
    assert [path.name for path in mine.parent.iterdir()] == ["README.md"]
