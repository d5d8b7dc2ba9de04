"""``--tokenizer-mode``: whose tokenizer a checkpoint is served with, and what is refused."""

from __future__ import annotations

import importlib.util
import json
import socket
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from starlette.testclient import TestClient
from tokenizers import Tokenizer, decoders, models
from transformers import AutoModelForCausalLM, MistralConfig, PreTrainedTokenizerFast

from toolglot import server
from toolglot.checkpoints import load_tokenizer, tokenizer_mode
from toolglot.cli import argument_parser, main, startup
from toolglot.errors import ModelError
from toolglot.tokens.mistral import MistralTokenizer

TekkenWriter = Callable[[int, Path], None]
MISTRAL, OTHER, BOTH = (
    ("tekken.json", "params.json"),
    ("tokenizer.json",),
    ("tekken.json", "params.json", "tokenizer.json"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """``folder("tekken.json", …)``: a folder with files of these names."""

    def make(*names: str) -> Path:
        for name in names:
            (tmp_path / name).write_text("{}")
        return tmp_path

    return make


@pytest.fixture
def without_mistral_common(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "mistral_common" else found(name))


@pytest.mark.parametrize(
    ("files", "mode"),
    [
        (MISTRAL, "mistral"),
        (BOTH, "mistral"),
        (OTHER, "hf"),
        (("tekken.json",), "mistral"),
        (("tekken.json", "tokenizer.json"), "hf"),  # another's checkpoint, which carries the file along
        (("tokenizer.model.v3",), "mistral"),
        (("tokenizer.model", "tokenizer_config.json"), "hf"),
        ((), "hf"),
    ],
)
def test_auto_follows_the_files_of_the_checkpoint(
    folder: Callable[..., Path], files: tuple[str, ...], mode: str
) -> None:
    assert tokenizer_mode(folder(*files)) == mode


def test_a_choice_wins_over_the_files(folder: Callable[..., Path]) -> None:
    path = folder(*BOTH)

    assert (tokenizer_mode(path, "hf"), tokenizer_mode(path, "mistral")) == ("hf", "mistral")


def test_without_a_file_of_mistrals_the_mode_is_refused(folder: Callable[..., Path]) -> None:
    with pytest.raises(ModelError, match=r"has no tekken\.json and no tokenizer\.model\.v\*; try --tokenizer-mode hf"):
        tokenizer_mode(folder(*OTHER), "mistral")


@pytest.mark.usefixtures("without_mistral_common")
def test_without_mistral_common_auto_is_transformers_where_it_can_be(folder: Callable[..., Path]) -> None:
    assert tokenizer_mode(folder(*BOTH)) == "hf"


@pytest.mark.usefixtures("without_mistral_common")
@pytest.mark.parametrize(("files", "choice"), [(MISTRAL, "auto"), (BOTH, "mistral")])
def test_a_missing_mistral_common_is_named_with_the_command(
    folder: Callable[..., Path], files: tuple[str, ...], choice: Any
) -> None:
    with pytest.raises(ModelError, match=r'needs mistral-common; try: pip install "toolglot\[mistral\]"'):
        tokenizer_mode(folder(*files), choice)


def test_the_newest_file_is_loaded(tmp_path: Path, write_tekken: TekkenWriter) -> None:
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer as Official

    for version, name in ((2, "240216.model.v2"), (3, "240323.model.v3")):
        source = Official._data_path() / f"mistral_instruct_tokenizer_{name}"
        (tmp_path / f"tokenizer.model.v{version}").write_bytes(source.read_bytes())
    assert load_tokenizer(tmp_path, "mistral").version == 3

    write_tekken(13, tmp_path)
    assert load_tokenizer(tmp_path, "mistral").version == 13


def checkpoint(path: Path, write_tekken: TekkenWriter) -> Path:
    """A tiny Mistral model in Mistral's layout, with a tokenizer of transformers' too."""
    write_tekken(13, path)
    (path / "params.json").write_text("{}")
    size = len(MistralTokenizer(path / "tekken.json").token_table.texts)
    config = MistralConfig(
        vocab_size=size,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
    )
    torch.manual_seed(7)
    AutoModelForCausalLM.from_config(config).save_pretrained(path)
    inner = Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[]))
    inner.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>").save_pretrained(path)
    return path


def test_transformers_tokenizer_stays_its_own(tmp_path: Path, write_tekken: TekkenWriter) -> None:
    path = checkpoint(tmp_path, write_tekken)

    tokenizer = load_tokenizer(path, "hf")

    assert tokenizer.is_fast
    assert tokenizer("ab")["input_ids"] == [0, 1]


def test_a_checkpoint_in_mistrals_layout_is_served_with_mistral_common(
    tmp_path: Path,
    write_tekken: TekkenWriter,
    weather: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers: list[dict[str, Any]] = []
    body = {
        "model": tmp_path.name,
        "messages": [{"role": "user", "content": "Weather in Zürich?"}],
        "tools": [{**weather, "function": {**weather["function"], "parameters": {"enum": [{"city": "Zürich"}]}}}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "reasoning_effort": "high",
        "max_tokens": 200,
        "seed": 1,
    }

    def ask(app: Any, config: object) -> None:
        with TestClient(app) as client:
            answers.append(client.post("/v1/chat/completions", json=body).json())

    monkeypatch.setattr(server, "run", ask)
    flags = ["--tool-call-parser", "mistral", "--reasoning-parser", "none", "--threads", "1", "--max-num-seqs", "1"]
    path = str(checkpoint(tmp_path, write_tekken))
    with caplog.at_level("INFO"):
        startup.load_and_serve(arguments("serve", path, *flags, "--enable-auto-tool-choice"))

    (choice,) = answers[0]["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == {"city": "Zürich"}
    assert len(call["id"]) == 9
    assert "chat template: none, mistral-common writes the prompts" in caplog.text


def arguments(*words: str) -> Namespace:
    return argument_parser().parse_args(words)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command that must be refused, and returns its one line."""

    def run(*words: str) -> str:
        code = main(words)

        out, err = capsys.readouterr()
        assert (code, out, err.count("\n")) == (2, "", 1)
        return err

    return run


def test_a_chat_template_is_refused_beside_the_mode(refused: Callable[..., str]) -> None:
    said = refused("serve", "m", "--tokenizer-mode", "mistral", "--chat-template", "t.jinja")

    assert "--chat-template t.jinja: mistral-common writes this model's prompts, without a template" in said
    assert "leave the flag out, or add --tokenizer-mode hf" in said


def test_a_chat_template_is_refused_for_a_checkpoint_in_mistrals_layout(
    folder: Callable[..., Path], refused: Callable[..., str]
) -> None:
    path = folder(*BOTH, "config.json", "t.jinja")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])

    said = refused("serve", str(path), "--chat-template", str(path / "t.jinja"), "--port", port)

    assert "leave the flag out, or add --tokenizer-mode hf" in said


def test_a_mode_of_another_server_is_refused(refused: Callable[..., str]) -> None:
    assert "--tokenizer-mode: invalid choice: 'slow'" in refused("serve", "--tokenizer-mode", "slow")


@pytest.mark.parametrize(("version", "start"), [(3, '[TOOL_CALLS][{"name": "f"'), (13, "[TOOL_CALLS]f[ARGS]{}")])
def test_render_writes_in_the_form_of_the_tokenizer(
    tmp_path: Path, write_tekken: TekkenWriter, capsys: pytest.CaptureFixture[str], version: int, start: str
) -> None:
    write_tekken(version, tmp_path)
    calls = tmp_path / "calls.json"
    calls.write_text('[{"name": "f", "arguments": {}}]')

    code = main(["render", "--tool-call-parser", "mistral", "--tokenizer", str(tmp_path), str(calls)])

    assert code == 0
    assert capsys.readouterr().out.startswith(start)


def test_render_refuses_a_tokenizer_that_is_nowhere(refused: Callable[..., str]) -> None:
    said = refused("render", "--tool-call-parser", "mistral", "--tokenizer", "no-such-folder", "-")

    assert "--tokenizer no-such-folder: no such directory" in said
