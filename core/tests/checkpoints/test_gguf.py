from __future__ import annotations

import json

import pytest
import torch
from transformers import AutoModelForCausalLM

from toolglot.checkpoints import gguf, load_tokenizer, resolve
from toolglot.checkpoints.cache import file_sha256
from toolglot.errors import ModelError


def logits(model, ids):
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids])).logits


def test_a_gguf_file_is_converted_once(tiny_gguf, cache, monkeypatch):
    first = resolve(str(tiny_gguf), quiet=True)
    monkeypatch.setattr(gguf, "convert", None)
    second = resolve(str(tiny_gguf), quiet=True)

    assert first == second
    assert first.name == "tiny"
    assert first.path.parent == cache / "gguf"
    assert file_sha256(tiny_gguf) in first.path.name
    assert [path.name for path in (cache / "gguf").iterdir()] == [first.path.name]


def test_the_checkpoint_computes_what_the_file_does(tiny_gguf):
    path = resolve(str(tiny_gguf), quiet=True).path
    original = AutoModelForCausalLM.from_pretrained(tiny_gguf.parent, gguf_file=tiny_gguf.name, dtype=torch.float32)
    converted = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)

    torch.testing.assert_close(logits(converted, [5, 6, 7, 100]), logits(original, [5, 6, 7, 100]))


def test_the_config_keeps_the_architecture_and_forgets_the_file(tiny_gguf):
    config = json.loads((resolve(str(tiny_gguf), quiet=True).path / "config.json").read_text())

    assert config["architectures"] == ["LlamaForCausalLM"]
    assert "quantization_config" not in config


def test_every_end_of_turn_is_a_stop_id(tiny_gguf):
    path = resolve(str(tiny_gguf), quiet=True).path / "generation_config.json"

    assert json.loads(path.read_text())["eos_token_id"] == [0, 2]  # <|endoftext|> beside the file's own <|im_end|>


def test_the_tokenizer_is_the_files(tiny_gguf):
    tokenizer = load_tokenizer(resolve(str(tiny_gguf), quiet=True).path)

    special = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    assert special == {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.chat_template == "{{ messages[0]['content'] }}"


def test_numbers_are_cut_into_digits_as_the_file_says(tiny_gguf):
    tokenizer = load_tokenizer(resolve(str(tiny_gguf), quiet=True).path)

    # A digit is a piece of its own, so the spaces before it stay together.
    assert tokenizer.tokenize("hi  12") == ["hi", "ĠĠ", "1", "2"]


@pytest.mark.parametrize("text", ["<|im_start|>user\nhi<|im_end|>", "naïve ☃ 日本", "a   b\n\n  12.5%", "\t'quoted' ."])
def test_text_survives_encoding_and_decoding(tiny_gguf, text):
    tokenizer = load_tokenizer(resolve(str(tiny_gguf), quiet=True).path)

    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_a_file_that_is_no_gguf_is_refused_and_leaves_nothing(tmp_path, cache):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF or not")

    with pytest.raises(ModelError, match=r"broken\.gguf cannot be read as a GGUF model"):
        resolve(str(broken), quiet=True)
    assert list((cache / "gguf").iterdir()) == []


def test_conversion_says_when_it_starts_and_ends(tiny_gguf, capsys):
    resolve(str(tiny_gguf))

    started, ended = capsys.readouterr().err.splitlines()
    assert started == "Converting tiny.gguf (once) ..."
    assert ended.startswith("Converting tiny.gguf (once): done in ")


def test_quiet_conversion_says_nothing(tiny_gguf, capfd):
    resolve(str(tiny_gguf), quiet=True)

    assert capfd.readouterr() == ("", "")
