"""Where the server's keys come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolglot.cli import argument_parser
from toolglot.cli.api_keys import api_keys
from toolglot.cli.arguments import UsageError

Refused = Callable[..., str]


def keys(*flags: str, **environment: str) -> tuple[str, ...]:
    return api_keys(argument_parser().parse_args(["serve", *flags]), environment)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / "keys"
        path.write_text(text)
        return str(path)

    return write


def test_without_one_none_is_asked_for() -> None:
    assert keys() == ()


def test_a_flag_may_be_given_again_and_a_file_adds_to_it(file: Callable[[str], str]) -> None:
    path = file("# the team's\nthree\n\n  four  \none\n")
    assert keys("--api-key", "one", "--api-key", "two", "--api-key-file", path) == ("one", "two", "three", "four")


def test_the_environment_counts_where_nothing_else_says() -> None:
    assert keys(TOOLGLOT_API_KEY="secret") == ("secret",)
    assert keys("--api-key", "one", TOOLGLOT_API_KEY="secret") == ("one",)


@pytest.mark.parametrize("key", ["a b", "schl\u00fcssel", "a\tb"])
def test_a_key_that_no_header_carries_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match="ASCII only"):
        keys("--api-key", key)


def test_an_empty_one_is_refused(monkeypatch: pytest.MonkeyPatch, refused: Refused, file: Callable[[str], str]) -> None:
    assert "--api-key is empty, so anyone could use the server" in refused("serve", "m", "--api-key", "")
    assert "it holds no key" in refused("serve", "m", "--api-key-file", file("# none\n"))
    monkeypatch.setenv("TOOLGLOT_API_KEY", "")
    assert "TOOLGLOT_API_KEY is empty" in refused("serve", "m")


def test_without_one_there_is_nothing_to_keep_apart() -> None:
    assert keys("--isolate-prefix-cache", TOOLGLOT_API_KEY="secret") == ("secret",)
    with pytest.raises(UsageError, match="--isolate-prefix-cache keeps keys apart, and there are none"):
        keys("--isolate-prefix-cache")


def test_a_file_that_is_none_is_refused(refused: Refused, tmp_path: Path) -> None:
    assert "No such file" in refused("serve", "m", "--api-key-file", str(tmp_path / "none"))
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert "not UTF-8 at byte 0" in refused("serve", "m", "--api-key-file", str(tmp_path / "bytes"))
