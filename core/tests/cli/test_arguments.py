"""Command lines that cannot be carried out: exit code 2, and one line that says what would work."""

from __future__ import annotations

import pytest

from toolglot.cli import main
from toolglot.cli.foreign import FOREIGN_FLAGS


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run a command that must be refused, and return its one line."""
    code = main(argv)

    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.startswith("toolglot: error: ")
    assert err.count("\n") == 1
    return err


def test_an_unknown_flag_is_answered_with_the_closest(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean --tool-call-parser?" in refused(capsys, "serve", "--tool-cal-parser", "hermes")


def test_a_flag_that_is_close_to_none_points_to_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert "see toolglot serve --help" in refused(capsys, "serve", "--zzz")


def test_flags_are_not_abbreviated(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown flag --tool-call" in refused(capsys, "parse", "--tool-call", "hermes")


@pytest.mark.parametrize("flag", FOREIGN_FLAGS)
def test_a_flag_of_a_bigger_engine_is_answered_with_what_would_work(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert FOREIGN_FLAGS[flag] in refused(capsys, "serve", "model", flag, "2")
    assert FOREIGN_FLAGS[flag] in refused(capsys, "serve", f"{flag}=2")


def test_one_model_is_served(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unexpected argument 'b'" in refused(capsys, "serve", "a", "b")


@pytest.mark.parametrize("value", ["0", "-1", "65536", "http"])
def test_a_port_is_checked(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not a port (1 to 65535)" in refused(capsys, "serve", f"--port={value}")


@pytest.mark.parametrize("flag", ["--max-model-len", "--max-num-seqs", "--max-queue", "--threads", "--max-body-bytes"])
def test_sizes_are_whole_numbers_of_at_least_1(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"argument {flag}: '0' is not a whole number of at least 1" in refused(capsys, "serve", flag, "0")


@pytest.mark.parametrize(("value", "reason"), [("{", "not JSON"), ("[]", "a JSON object is wanted")])
def test_template_arguments_are_a_json_object(value: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert reason in refused(capsys, "serve", "--default-chat-template-kwargs", value)


@pytest.mark.parametrize("spec", ["0", "-3", "random", "random:x", "x"])
def test_a_chunking_is_a_number_or_a_seed(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is neither a number of characters nor random:SEED" in refused(capsys, "parse", f"--chunks={spec}")


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "toolglot parse --tool-call-parser hermes output.txt" in capsys.readouterr().out


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("toolglot ")
