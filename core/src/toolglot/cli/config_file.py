"""``--config FILE``: flags in a TOML file."""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolglot.cli.arguments import ArgumentParser, UsageError, did_you_mean

FLAG = "--config"
MODEL = "model"
"""The key that is no flag."""
_NEVER = frozenset({"config", "help"})


def with_config(argv: Sequence[str], parser: ArgumentParser) -> list[str]:
    """The command line ``argv``, and behind it the flags of the file that it names, but for those that it has itself.

    ``parser`` is that of the command; the file's ``model`` becomes its default.

    Raises:
        UsageError: the file cannot be read, is no TOML, or has a key that is no flag or a value that is none for it.
    """
    words = list(argv)
    path = _path(words)
    if path is None:
        return words
    table = _read(path)
    flags = {flag.removeprefix("--"): action for flag, action in parser.flags.items()}
    for key, value in table.items():
        where = f"{FLAG} {path}: {key!r}"
        if key == MODEL:
            parser.set_defaults(model=_text(value, where))
        elif key not in flags or key in _NEVER:
            hint = did_you_mean(key, flags.keys() - _NEVER) or "keys are names of flags, such as port"
            raise UsageError(f"{where} is no flag of {parser.prog}; {hint}")
        elif not _given(f"--{key}", words):
            words += _words(f"--{key}", flags[key], value, where)
    return words


def _path(words: Sequence[str]) -> str | None:
    for number, word in enumerate(words):
        if word.startswith(f"{FLAG}="):
            return word.partition("=")[2]
        if word == FLAG and number + 1 < len(words):
            return words[number + 1]
    return None


def _read(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{FLAG} {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{FLAG} {path}: not TOML: {error}") from error


def _given(flag: str, words: Sequence[str]) -> bool:
    return any(word == flag or word.startswith(f"{flag}=") for word in words)


def _words(flag: str, action: argparse.Action, value: Any, where: str) -> Iterator[str]:
    """A flag and its value as words of a command line; argparse then checks the value."""
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise UsageError(f"{where} is true or false, not {value!r}")
        yield from [flag] if value else []
    elif isinstance(value, list):
        yield from _several(flag, action, [_text(one, where) for one in value], where)
    else:
        yield f"{flag}={_text(value, where)}"


def _several(flag: str, action: argparse.Action, values: Sequence[str], where: str) -> list[str]:
    if action.nargs == "+":
        return [flag, *values] if values else []
    if isinstance(action.default, list):  # the flag may be given again
        return [f"{flag}={value}" for value in values]
    raise UsageError(f"{where} takes one value, not a list")


def _text(value: Any, where: str) -> str:
    match value:
        case bool():
            raise UsageError(f"{where} takes a value, not {json.dumps(value)}")
        case str() | int() | float():
            return str(value)
        case Mapping():
            with suppress(TypeError, ValueError):  # TOML has dates and nan, JSON has not
                return json.dumps(value, allow_nan=False)
    raise UsageError(f"{where} cannot be {value!r}")
