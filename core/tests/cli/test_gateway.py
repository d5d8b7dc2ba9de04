"""``toolglot serve --engine vllm`` and its like: what is refused before anything is asked of an engine."""

from __future__ import annotations

import socket
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from toolglot.cli import gateway
from toolglot.cli.arguments import UsageError

Refused = Callable[..., str]
AT = ("--engine-url", "http://127.0.0.1:9")


@pytest.mark.parametrize("engine", gateway.ENGINES)
def test_an_engine_needs_an_address_and_a_model(refused: Refused, engine: str) -> None:
    assert f"--engine {engine} needs --engine-url" in refused("serve", "m", "--engine", engine)
    assert f"--engine {engine} needs MODEL" in refused("serve", "--engine", engine, *AT)


def test_what_is_about_an_engine_elsewhere_goes_with_one(refused: Refused) -> None:
    assert "--engine-url goes with --engine vllm, sglang, llamacpp, openai" in refused("serve", *AT)
    assert "--engine-model goes with --engine vllm" in refused("serve", "--engine-model", "m")
    for flag in (
        ("--seed", "1"),
        ("--threads", "1"),
        ("--dtype", "float32"),
        ("--attention", "sdpa"),
        ("--enforce-eager",),
    ):
        assert f"{flag[0]} goes with --engine local" in refused("serve", "m", "--engine", "vllm", *AT, *flag)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("127.0.0.1:8000", "give an http or https URL"),
        ("ftp://a", "give an http or https URL"),
        ("http://", "give an http or https URL"),
        ("http://a/?x=1", "give an http or https URL without a query"),
        ("http://a:1/v1/", "leave /v1 out"),
    ],
)
def test_addresses_are_checked(refused: Refused, url: str, said: str) -> None:
    assert f"--engine-url {url}: {said}" in refused("serve", "m", "--engine", "vllm", "--engine-url", url)


def test_an_engine_that_does_not_answer_is_told(refused: Refused, tmp_path: Path) -> None:
    from toolglot.backends.byte_tokenizer import byte_tokenizer

    byte_tokenizer(None).save_pretrained(tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = ("--port", str(probe.getsockname()[1]))
    said = refused("serve", str(tmp_path), "--engine", "vllm", *AT, *port)
    assert "no vllm engine answers at http://127.0.0.1:9" in said
    assert "start it, or give another --engine-url" in said
    assert "give a directory or hub name" in refused("serve", "a.gguf", "--engine", "llamacpp", *AT, *port)


def key(file: Path | None, **environment: str) -> str | None:
    return gateway.api_key(Namespace(engine_api_key_file=file and str(file)), environment)


def test_the_engines_key_is_one_of_a_file_or_of_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("# the engine's\nsesame\n")
    assert key(file) == "sesame"
    assert key(file, TOOLGLOT_ENGINE_API_KEY="other") == "sesame"
    assert key(None, TOOLGLOT_ENGINE_API_KEY="other") == "other"
    assert key(None) is None
    for text, said in (("a\nb\n", "holds 2 keys"), ("", "holds no key"), ("\u00e9\n", "letters, digits and signs")):
        file.write_text(text, "utf-8")
        with pytest.raises(UsageError, match=f"--engine-api-key-file .*{said}"):
            key(file)
    with pytest.raises(UsageError, match="TOOLGLOT_ENGINE_API_KEY is empty"):
        key(None, TOOLGLOT_ENGINE_API_KEY="")


def test_the_tokens_that_end_a_turn_are_those_of_configs_and_tokenizer(tmp_path: Path) -> None:
    tokenizer = Namespace(eos_token_id=1)
    assert gateway.stop_token_ids(tmp_path, tokenizer) == {1}
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [2, 3]}')
    (tmp_path / "config.json").write_text('{"eos_token_id": 4}')
    assert gateway.stop_token_ids(tmp_path, tokenizer) == {1, 2, 3, 4}
    (tmp_path / "config.json").write_text("[1")
    assert gateway.stop_token_ids(tmp_path, Namespace(eos_token_id=None)) == {2, 3}
