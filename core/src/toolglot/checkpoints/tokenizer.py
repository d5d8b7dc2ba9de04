"""A checkpoint's tokenizer: transformers' or mistral-common's."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from toolglot.checkpoints.progress import quiet_transformers
from toolglot.errors import ModelError

TokenizerMode: TypeAlias = Literal["hf", "mistral"]

_NEEDS_MISTRAL_COMMON: Final = 'needs mistral-common; try: pip install "toolglot[mistral]"'


def tokenizer_mode(path: Path, choice: TokenizerMode | Literal["auto"] = "auto") -> TokenizerMode:
    """Whose tokenizer the checkpoint in ``path`` is served with.

    ``auto`` is mistral-common's for a checkpoint in Mistral's own layout (``params.json`` beside a ``tekken.json`` or
    ``tokenizer.model.v*``) where mistral-common is installed, and for one that has no other tokenizer.

    Raises:
        ModelError: it is mistral-common's, and the checkpoint has no file for it, or mistral-common is not installed.
    """
    installed = importlib.util.find_spec("mistral_common") is not None
    if choice == "auto":
        choice = "mistral" if _is_for_mistral(path, installed=installed) else "hf"
    if choice == "mistral" and not installed:
        raise ModelError(f"the tokenizer in {path} {_NEEDS_MISTRAL_COMMON}")
    if choice == "mistral" and _mistral_file(path) is None:
        raise ModelError(f"{path} has no tekken.json and no tokenizer.model.v*; try --tokenizer-mode hf")
    return choice


def load_tokenizer(path: Path, mode: TokenizerMode = "hf") -> Any:
    """Return the tokenizer of the checkpoint in ``path``: one of transformers' or a ``MistralTokenizer``.

    Raises:
        ModelError: it has none, or it does not load.
    """
    return _load_mistral(path) if mode == "mistral" else _load_transformers(path)


def _load_transformers(path: Path) -> Any:
    from transformers import AutoTokenizer

    with quiet_transformers():
        try:
            return AutoTokenizer.from_pretrained(
                path,
                local_files_only=True,
                trust_remote_code=False,
                mistral_format=False,  # or it would be transformers' wrapper of mistral-common's
            )
        except Exception as error:  # transformers raises whatever a broken tokenizer file makes it
            raise ModelError(f"the tokenizer in {path} does not load: {error}") from error


def _load_mistral(path: Path) -> Any:
    from toolglot.tokens.mistral import MistralTokenizer

    file = _mistral_file(path)
    assert file is not None, "tokenizer_mode has seen it"
    return MistralTokenizer(file)


def _is_for_mistral(path: Path, *, installed: bool) -> bool:
    if _mistral_file(path) is None:
        return False
    has_other = any((path / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json"))
    return not has_other or (installed and (path / "params.json").is_file())


def _mistral_file(path: Path) -> Path | None:
    """The file that mistral-common loads: ``tekken.json``, or the newest of the SentencePiece models."""
    tekken = path / "tekken.json"
    if tekken.is_file():
        return tekken
    return max(path.glob("tokenizer*.model.v*"), key=_version, default=None)


def _version(file: Path) -> int:
    number = re.search(r"\.v(\d+)", file.name)
    return int(number[1]) if number else 0
