"""What a model's files say about the parser that it needs; its weights are neither fetched nor read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from toolglot.checkpoints import checkpoint
from toolglot.detection import Evidence
from toolglot.errors import ModelError

_TOKENIZER, _CONFIG = "tokenizer.json", "config.json"
WANTED: Final = [_CONFIG, _TOKENIZER, "tokenizer_config.json", "added_tokens.json", "*.jinja", "chat_template.json"]


def evidence(model: str) -> Evidence:
    """Read the chat template, the added tokens and the architecture of a checkpoint's directory or a hub name.

    Raises:
        ModelError: there is no such model, or one of these files is no JSON.
    """
    return read_evidence(checkpoint.files_of(model, WANTED))


def read_evidence(path: Path) -> Evidence:
    """The same of a directory. Raises ModelError."""
    config, settings, tokenizer = (_read(path / name) for name in (_CONFIG, "tokenizer_config.json", _TOKENIZER))
    added = [token.get("content") for token in tokenizer.get("added_tokens") or ()]
    added += [token.get("content") for token in (settings.get("added_tokens_decoder") or {}).values()]
    added += _read(path / "added_tokens.json")
    names = [*(config.get("architectures") or ()), config.get("model_type")]
    return Evidence(
        "\n".join([*_templates(settings), *_templates(_read(path / "chat_template.json")), *_files(path)]),
        frozenset(text for text in added if isinstance(text, str)),
        tuple(name for name in names if isinstance(name, str)),
    )


def _files(path: Path) -> list[str]:
    return [file.read_text("utf-8") for file in sorted(path.rglob("*.jinja"))]


def _templates(settings: dict[str, Any]) -> list[str]:
    """A template stands as text, or as a list of named ones."""
    written = settings.get("chat_template")
    found = [one.get("template") for one in written] if isinstance(written, list) else [written]
    return [text for text in found if isinstance(text, str)]


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        value = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise ModelError(f"{file} is no JSON: {error}") from error
    return value if isinstance(value, dict) else {}
