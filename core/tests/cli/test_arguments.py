"""Command lines that cannot be carried out: exit code 2, and one line that says what would work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from toolglot.cli import main
from toolglot.cli.foreign import FOREIGN_FLAGS
from toolglot.cli.speculation import prompt_lookup

Refused = Callable[..., str]


def test_an_unknown_flag_is_answered_with_the_closest(refused: Refused) -> None:
    assert "did you mean --tool-call-parser?" in refused("serve", "--tool-cal-parser", "hermes")


def test_a_flag_that_is_close_to_none_points_to_the_help(refused: Refused) -> None:
    assert "see toolglot serve --help" in refused("serve", "--zzz")


def test_flags_are_not_abbreviated(refused: Refused) -> None:
    assert "unknown flag --tool-call" in refused("parse", "--tool-call", "hermes")


@pytest.mark.parametrize("flag", FOREIGN_FLAGS)
def test_a_flag_of_a_bigger_engine_is_answered_with_what_would_work(flag: str, refused: Refused) -> None:
    assert FOREIGN_FLAGS[flag] in refused("serve", "model", flag, "2")
    assert FOREIGN_FLAGS[flag] in refused("serve", f"{flag}=2")


def test_one_model_is_served(refused: Refused) -> None:
    assert "unexpected argument 'b'" in refused("serve", "a", "b")


@pytest.mark.parametrize("value", ["0", "-1", "65536", "http"])
def test_a_port_is_checked(value: str, refused: Refused) -> None:
    assert "is not a port (1 to 65535)" in refused("serve", f"--port={value}")


@pytest.mark.parametrize(
    "flag",
    [
        "--max-model-len",
        "--max-num-seqs",
        "--max-num-batched-tokens",
        "--kv-cache-memory-bytes",
        "--threads",
        "--max-body-bytes",
    ],
)
def test_sizes_are_whole_numbers_of_at_least_1(flag: str, refused: Refused) -> None:
    assert f"argument {flag}: '0' is not a whole number of at least 1" in refused("serve", flag, "0")


@pytest.mark.parametrize(("value", "reason"), [("{", "not JSON"), ("[]", "a JSON object is wanted")])
def test_template_arguments_are_a_json_object(value: str, reason: str, refused: Refused) -> None:
    assert reason in refused("serve", "--default-chat-template-kwargs", value)


@pytest.mark.parametrize("spec", ["0", "-3", "random", "random:x", "x"])
def test_a_chunking_is_a_number_or_a_seed(spec: str, refused: Refused) -> None:
    assert "is neither a number of characters nor random:SEED" in refused("parse", f"--chunks={spec}")


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "toolglot parse --tool-call-parser hermes output.txt" in capsys.readouterr().out


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("toolglot ")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("ngram", "not JSON"),
        ('{"method": "eagle", "num_speculative_tokens": 3}', "method 'eagle' is not known here"),
        ('{"method": "ngram"}', "missing required field `num_speculative_tokens`"),
        ('{"method": "ngram", "num_speculative_tokens": 0}', ">= 1"),
        ('{"method": "ngram", "num_speculative_tokens": 3, "model": "x"}', "unknown field `model`"),
        (
            '{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_min": 3, "prompt_lookup_max": 2}',
            "prompt_lookup_min 3 is more than prompt_lookup_max 2",
        ),
    ],
)
def test_speculation_that_there_is_not_is_refused(value: str, reason: str, refused: Refused) -> None:
    assert reason in refused("serve", "--speculative-config", value)


@pytest.mark.parametrize(
    ("limits", "expected"), [("", (5, 5)), (', "prompt_lookup_max": 3', (3, 3)), (', "prompt_lookup_min": 2', (2, 2))]
)
def test_speculation_is_spelled_as_in_vllm(limits: str, expected: tuple[int, int]) -> None:
    lookup = prompt_lookup(f'{{"method": "ngram", "num_speculative_tokens": 4{limits}}}')

    assert (lookup.count, lookup.longest, lookup.shortest) == (4, *expected)
