"""The user's cache directory, and directories that appear in it whole or not at all."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

_SAMPLES: Final = 16
_SAMPLE_BYTES: Final = 1 << 20


def cache_dir() -> Path:
    """``$TOOLGLOT_CACHE``, or toolglot's place in the user's cache; it need not exist yet."""
    override = os.environ.get("TOOLGLOT_CACHE")
    return Path(override).expanduser() if override else user_cache_path("toolglot", appauthor=False)


def make_once(target: Path, fill: Callable[[Path], None]) -> Path:
    """Return the directory ``target``, made by ``fill`` when it does not exist.

    ``fill`` gets an empty directory beside the target, which is renamed when it returns: nobody ever sees half of it,
    and of two processes that make the same one the first wins.
    """
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".making-") as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        fill(made)
        try:
            made.rename(target)
        except OSError:
            if not target.is_dir():  # otherwise another process was faster, and what it made is as good
                raise
    return target


def file_sha256(path: Path) -> str:
    """The sha256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(checkpoint: Path) -> str:
    """A sha256 that tells a checkpoint's directory from others, in hexadecimal: of its configs and of samples of its
    weights, all of which would take long to read.
    """
    digest = hashlib.sha256()
    for path in sorted(file for pattern in ("*.json", "*.safetensors") for file in checkpoint.glob(pattern)):
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            for at in range(0, size, max(_SAMPLE_BYTES, size // _SAMPLES)):
                file.seek(at)
                digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()
