"""From what a user writes as MODEL to a directory that transformers loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from toolglot.checkpoints import demo, gguf, mistral
from toolglot.errors import ModelError

Layout: TypeAlias = Literal["auto", "hf", "mistral"]
"""Whose files a checkpoint's config and weights are read from: transformers' or Mistral's own."""

_CONFIG: Final = "config.json"
_WANTED: Final = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja", "*.tiktoken", "tokenizer*.model.v*"]
_SECOND_COPIES: Final[Mapping[str, list[str]]] = {
    "hf": ["original/*", "onnx/*", "consolidated*"],
    "mistral": ["original/*", "onnx/*", "model*.safetensors*"],
}
"""The same weights once more, in formats that are not read then."""


class Checkpoint(Struct, frozen=True):
    """A model on this machine."""

    path: Path
    """A directory with safetensors weights, config and tokenizer."""
    name: str
    """What clients call the model unless told otherwise."""
    presets: Mapping[str, str] = {}
    """Settings to serve it with where the user gives none."""


def resolve(model: str | None, *, layout: Layout = "auto", quiet: bool = False) -> Checkpoint:
    """Find ``model`` and fetch what is missing: a directory, a ``.gguf`` file, a hub name, or None for the demo model.

    ``auto`` is Mistral's layout for a directory or a hub name that has no ``config.json``.

    Raises:
        ModelError: it is none of these, cannot be fetched, or is not what it should be.
    """
    path = Path("" if model is None else model).expanduser()
    is_gguf = path.suffix == ".gguf" and path.is_file()
    if layout == "mistral" and (model is None or is_gguf):
        raise ModelError("Mistral's own format is that of a directory or of a model on the hub; name one")
    if model is None:
        return _demo(quiet=quiet)
    if is_gguf:
        return Checkpoint(gguf.converted(path.absolute(), quiet=quiet), path.stem)
    if path.is_dir():
        return Checkpoint(_readable(path, layout, quiet=quiet), path.resolve().name)
    return Checkpoint(_readable(_from_hub(model, _WANTED, layout), layout, quiet=quiet), model)


def files_of(model: str, patterns: Sequence[str]) -> Path:
    """A directory with the files of ``model``, a directory or a hub name, matching ``patterns``. Raises ModelError."""
    path = Path(model).expanduser()
    return path if path.is_dir() else _from_hub(model, patterns)


def _demo(*, quiet: bool) -> Checkpoint:
    path = gguf.location(demo.SHA256)
    if not path.is_dir():
        path = gguf.converted(demo.fetch(quiet=quiet), sha256=demo.SHA256, quiet=quiet)
    return Checkpoint(path, demo.NAME, demo.PRESETS)


def _readable(folder: Path, layout: Layout, *, quiet: bool) -> Path:
    """The folder, or what was made of it where it is in Mistral's layout."""
    if layout == "mistral" or (layout == "auto" and _is_mistrals(folder)):
        return mistral.converted(folder, quiet=quiet)
    if not (folder / _CONFIG).is_file():
        raise ModelError(f"{folder} has no config.json, so it holds no checkpoint that transformers loads")
    return folder


def _is_mistrals(folder: Path) -> bool:
    return (folder / mistral.PARAMS).is_file() and not (folder / _CONFIG).is_file()


def _from_hub(name: str, wanted: Sequence[str], layout: Layout = "auto") -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    ignored = _SECOND_COPIES["hf" if layout == "auto" else layout]
    try:
        folder = Path(snapshot_download(name, allow_patterns=list(wanted), ignore_patterns=ignored))
    except HFValidationError as error:
        raise ModelError(_not_found(name, "it is not even the form of a hub name")) from error
    except OSError as error:  # the hub's errors, offline and not found among them, are all of this kind
        raise ModelError(_not_found(name, str(error).splitlines()[0])) from error
    if layout == "auto" and _is_mistrals(folder):  # the weights are still missing
        return _from_hub(name, wanted, "mistral")
    return folder


def _not_found(name: str, reason: str) -> str:
    return (
        f"no model {name!r}: it is neither (1) a directory with a checkpoint, nor (2) a .gguf file on this machine, "
        f"nor (3) a model that the hub has for us ({reason})"
    )
