"""Reading a command line, and refusing one in a single line that says what would work."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from toolglot.cli.foreign import FOREIGN_FLAGS
from toolglot.errors import ToolglotError


class UsageError(ToolglotError):
    """The command line asks for something that cannot be done."""


class ArgumentParser(argparse.ArgumentParser):
    """argparse's, with whole flag names only, examples kept as written, and errors that are raised."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    @property
    def flags(self) -> Mapping[str, argparse.Action]:
        """What each flag, with its dashes, does."""
        return self._option_string_actions

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Say what is wrong with the first argument that no flag takes."""
        flags = [word.partition("=")[0] for word in unknown if word.startswith("-")]
        if not flags:
            raise UsageError(f"unexpected argument {unknown[0]!r}; see {self.prog} --help")
        flag = flags[0]
        if flag in FOREIGN_FLAGS:
            raise UsageError(f"{flag} is not a flag of toolglot: {FOREIGN_FLAGS[flag]}")
        hint = did_you_mean(flag, self.flags) or f"see {self.prog} --help"
        raise UsageError(f"unknown flag {flag}; {hint}")


class ShowVersion(argparse.Action):
    """Prints the installed version, which is looked up only then."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"{parser.prog} {version('toolglot')}")
        parser.exit()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``did you mean …?`` with the closest of ``known``, or an empty string when none is close."""
    close = get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]}?" if close else ""


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def not_negative(text: str) -> int:
    """A whole number of at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def port(text: str) -> int:
    """A TCP port."""
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (1 to 65535)")
    return int(text)


def json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"a JSON object is wanted, such as '{{\"key\": true}}', not {text!r}")
    return value
