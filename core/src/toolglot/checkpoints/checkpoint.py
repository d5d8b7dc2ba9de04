"""From what a user writes as MODEL to a directory that transformers loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from toolglot.checkpoints import demo, gguf
from toolglot.errors import ModelError

_WANTED: Final = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja", "*.tiktoken", "tokenizer*.model.v*"]
_SECOND_COPIES: Final = ["consolidated*", "original/*", "onnx/*"]
"""The same weights once more, in formats that transformers does not read."""


class Checkpoint(Struct, frozen=True):
    """A model on this machine."""

    path: Path
    """A directory with safetensors weights, config and tokenizer."""
    name: str
    """What clients call the model unless told otherwise."""
    presets: Mapping[str, str] = {}
    """Settings to serve it with where the user gives none."""


def resolve(model: str | None, *, quiet: bool = False) -> Checkpoint:
    """Find ``model`` and fetch what is missing: a directory, a ``.gguf`` file, a hub name, or None for the demo model.

    Raises:
        ModelError: it is none of these, cannot be fetched, or is not what it should be.
    """
    if model is None:
        return _demo(quiet=quiet)
    path = Path(model).expanduser()
    if path.is_dir():
        return Checkpoint(_checked(path), path.resolve().name)
    if path.is_file() and path.suffix == ".gguf":
        return Checkpoint(gguf.converted(path.absolute(), quiet=quiet), path.stem)
    return Checkpoint(_from_hub(model), model)


def files_of(model: str, patterns: Sequence[str]) -> Path:
    """A directory with the files of ``model``, a directory or a hub name, matching ``patterns``. Raises ModelError."""
    path = Path(model).expanduser()
    return path if path.is_dir() else _from_hub(model, patterns)


def _demo(*, quiet: bool) -> Checkpoint:
    path = gguf.location(demo.SHA256)
    if not path.is_dir():
        path = gguf.converted(demo.fetch(quiet=quiet), sha256=demo.SHA256, quiet=quiet)
    return Checkpoint(path, demo.NAME, demo.PRESETS)


def _checked(path: Path) -> Path:
    if not (path / "config.json").is_file():
        raise ModelError(f"{path} has no config.json, so it holds no checkpoint that transformers loads")
    return path


def _from_hub(name: str, wanted: Sequence[str] = _WANTED) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        return _checked(Path(snapshot_download(name, allow_patterns=list(wanted), ignore_patterns=_SECOND_COPIES)))
    except HFValidationError as error:
        raise ModelError(_not_found(name, "it is not even the form of a hub name")) from error
    except OSError as error:  # the hub's errors, offline and not found among them, are all of this kind
        raise ModelError(_not_found(name, str(error).splitlines()[0])) from error


def _not_found(name: str, reason: str) -> str:
    return (
        f"no model {name!r}: it is neither (1) a directory with a checkpoint, nor (2) a .gguf file on this machine, "
        f"nor (3) a model that the hub has for us ({reason})"
    )
