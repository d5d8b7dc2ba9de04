"""``toolglot parsers``: which parsers are installed, and from where; or the one that a model needs."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from toolglot.cli.table import print_table

EPILOG = """\
examples:
  toolglot parsers
  toolglot parsers --detect Qwen/Qwen3-8B
"""
HEADINGS = ("NAME", "DISTRIBUTION", "VERSION", "CONFLICT")


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "parsers",
        help="list the installed parsers",
        description="List the installed parsers, or find the one that a model needs.",
        epilog=EPILOG,
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    parser.add_argument(
        "--detect", metavar="MODEL", help="a checkpoint's directory or a hub name: print the parser that fits, and why"
    )
    parser.set_defaults(run=run, parser=parser)


def run(arguments: Namespace) -> int:
    from toolglot import plugins

    if arguments.detect is not None:
        return _detect(arguments.detect)
    found = plugins.installed()
    if arguments.json:
        print(json.dumps([_record(entry) for entry in found], indent=2))
    elif not found:
        print("no parser is installed; try: pip install toolglot-hermes")
    else:
        print_table([HEADINGS, *((e.name, e.distribution, e.version, ", ".join(e.conflict)) for e in found)])
    return 0


def _detect(model: str) -> int:
    """Print the parser that a model needs. Raises ModelError; UndecidedError where none or several fit."""
    from toolglot import detection
    from toolglot.checkpoints import evidence

    found = detection.detect(evidence(model))
    print(f"{found.name}: {found.reason}")
    return 0


def _record(entry: Any) -> dict[str, Any]:
    return {
        "name": entry.name,
        "distribution": entry.distribution,
        "version": entry.version,
        "conflict": list(entry.conflict),
    }
