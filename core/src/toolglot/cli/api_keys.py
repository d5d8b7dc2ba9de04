"""Where the server's keys come from: flags, a file, the environment."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from toolglot.cli.arguments import UsageError

VARIABLE = "TOOLGLOT_API_KEY"

_KEY = re.compile(r"[!-~]+")


def api_keys(arguments: Namespace, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of flags and file, or that of the environment where they give none; empty: no key is asked for.

    Raises:
        UsageError: a key is empty or cannot be sent in a header, the file cannot be read or holds none, or there are
            none and they are to be kept apart.
    """
    keys = [("--api-key", key) for key in arguments.api_key]
    if arguments.api_key_file is not None:
        keys += [
            (f"--api-key-file {arguments.api_key_file}", key)
            for key in of_file(arguments.api_key_file, "--api-key-file")
        ]
    if not keys and VARIABLE in environment:
        keys = [(VARIABLE, environment[VARIABLE])]
    for where, key in keys:
        check(where, key)
    if arguments.isolate_prefix_cache and not keys:
        raise UsageError("--isolate-prefix-cache keeps keys apart, and there are none: give --api-key, or leave it out")
    return tuple(dict.fromkeys(key for _, key in keys))


def of_file(path: str, flag: str) -> list[str]:
    """The lines of the file that ``flag`` names, but empty ones and comments. Raises UsageError: there are none."""
    try:
        lines = [line.strip() for line in Path(path).read_text("utf-8").splitlines()]
    except OSError as error:
        raise UsageError(f"{flag} {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{flag} {path}: not UTF-8 at byte {error.start}") from error
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys:
        raise UsageError(f"{flag} {path}: it holds no key, so anyone could use the server; give one a line")
    return keys


def check(where: str, key: str) -> None:
    """Raise UsageError for what is no key."""
    if not key:
        raise UsageError(f"{where} is empty, so anyone could use the server; give a key, or leave it out")
    if not _KEY.fullmatch(key):
        raise UsageError(f"{where}: a key has letters, digits and signs of ASCII only, as it is sent in a header")
