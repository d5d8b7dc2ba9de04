"""The command line: ``toolglot serve``, ``parse``, ``render``, ``parsers``, ``schema``, ``check``, ``bench``,
``new-plugin`` and ``export``.

argparse only. A command imports what it needs when it runs, so that ``toolglot parse`` works without server and engine.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from toolglot.cli import bench, check, export, new_plugin, parse, parsers, render, schema, serve
from toolglot.cli.arguments import ArgumentParser, ShowVersion
from toolglot.cli.config_file import with_config
from toolglot.errors import ToolglotError

COMMANDS = (serve, parse, render, parsers, schema, check, bench, new_plugin, export)
EPILOG = """\
examples:
  toolglot serve                                      serve the demo model on http://127.0.0.1:8000
  toolglot serve MODEL --enable-auto-tool-choice --tool-call-parser hermes
  toolglot parse --tool-call-parser hermes output.txt
  toolglot parsers
  toolglot schema tools.json
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, or 2 with one line on standard error that says what would work.

    130 when it was interrupted; 1 when nobody reads its output any more.
    """
    _write_utf8()
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except ToolglotError as error:
        print(f"toolglot: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130  # what a shell expects of a program that Ctrl-C ended
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(argv: Sequence[str]) -> int:
    parser = argument_parser()
    arguments, unknown = parser.parse_known_args(argv)
    if getattr(arguments, "config", None) is not None:
        arguments, unknown = parser.parse_known_args(with_config(argv, arguments.parser))
    if "run" not in arguments:
        parser.print_help()
        return 0
    if unknown:
        arguments.parser.refuse(unknown)
    return int(arguments.run(arguments))


def argument_parser() -> ArgumentParser:
    """The whole command line; each command sets `run` and `parser`."""
    parser = ArgumentParser(prog="toolglot", description="Reliable tool calling for open-weight models.", epilog=EPILOG)
    parser.add_argument("--version", action=ShowVersion)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser


def _write_utf8() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
