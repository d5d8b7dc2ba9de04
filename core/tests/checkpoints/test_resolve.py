from __future__ import annotations

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from toolglot.checkpoints import Checkpoint, demo, gguf, load_tokenizer, resolve
from toolglot.errors import ModelError


def test_a_directory_is_taken_as_it_is(tmp_path):
    path = tmp_path / "my-model"
    path.mkdir()
    (path / "config.json").write_text("{}")

    assert resolve(str(path)) == Checkpoint(path, "my-model")


def test_a_directory_without_a_config_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"has no config\.json"):
        resolve(str(tmp_path))


def test_nothing_is_the_demo_model_with_its_presets(monkeypatch):
    gguf.location(demo.SHA256).mkdir(parents=True)
    monkeypatch.setattr(demo, "fetch", None)  # a converted one is enough

    checkpoint = resolve(None)

    assert checkpoint.name == "SmolLM2-135M-Instruct"
    assert checkpoint.presets == {"tool_call_parser": "hermes", "chat_template": "tool_chat_template_hermes"}


def test_a_hub_name_is_fetched_without_second_copies(tmp_path, monkeypatch):
    asked = {}

    def snapshot_download(name: str, **patterns: list[str]) -> str:
        asked.update(patterns, name=name)
        (tmp_path / "config.json").write_text("{}")
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)

    assert resolve("someone/model") == Checkpoint(tmp_path, "someone/model")
    assert asked["name"] == "someone/model"
    assert "*.safetensors" in asked["allow_patterns"]
    assert "consolidated*" in asked["ignore_patterns"]


def test_without_the_network_the_error_names_the_three_forms(monkeypatch):
    def snapshot_download(name: str, **_: object) -> str:
        raise LocalEntryNotFoundError("no connection\nand more")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)

    with pytest.raises(ModelError) as refused:
        resolve("someone/model")
    for part in (
        "'someone/model'",
        "(1) a directory",
        "(2) a .gguf file",
        "(3) a model that the hub",
        "(no connection)",
    ):
        assert part in str(refused.value)


@pytest.mark.parametrize("name", ["no/such/file.gguf", "two words", "./missing"])
def test_what_cannot_even_be_a_hub_name_is_refused_the_same_way(name):
    with pytest.raises(ModelError, match="it is not even the form of a hub name"):
        resolve(name)


def test_a_checkpoint_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"the tokenizer in .* does not load"):
        load_tokenizer(tmp_path)
