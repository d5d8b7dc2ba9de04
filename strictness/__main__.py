"""``python -m strictness suite|sample|load|live``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from strictness.live import live
from strictness.load import load
from strictness.sample import sample
from strictness.suite import check

PARTS = {
    "suite": (check, "hold grammars against the instances of the JSON-Schema-Test-Suite"),
    "sample": (sample, "let the worst of models write calls with every parser"),
    "load": (load, "time grammars, and what hostile schemas cost others"),
    "live": (live, "ask the demo model, with and without a grammar"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one part, and return its exit code: 1 where a promise is broken."""
    parser = ArgumentParser(prog="strictness", description="Whether grammars keep their promise.")
    parts = parser.add_subparsers(metavar="PART", required=True)
    for name, (run, text) in PARTS.items():
        parts.add_parser(name, help=text, description=text).set_defaults(run=run)
    for name in ("suite", "sample"):
        parts.choices[name].add_argument(
            "--suite", metavar="DIR", type=Path, required=True, help="the JSON-Schema-Test-Suite"
        )
    _add_sample_flags(parts.choices["sample"])
    parts.choices["live"].add_argument("--requests", metavar="N", type=int, default=200, help="of a run (default: 200)")
    parts.choices["load"].add_argument("--seconds", metavar="N", type=float, default=8, help="of a phase (default: 8)")
    parts.choices["suite"].add_argument("--page", metavar="FILE", type=Path, help="write the table into this page")
    arguments = parser.parse_args(argv)
    return int(arguments.run(arguments))


def _add_sample_flags(part: ArgumentParser) -> None:
    part.add_argument("--each", metavar="N", type=int, default=200, help="schemas of a parser (default: 200)")
    part.add_argument("--seed", metavar="N", type=int, default=0, help="other hands and outputs (default: 0)")
    part.add_argument("--parser", metavar="NAME", help="only this parser's hand")
    part.add_argument("--schema", metavar="ID", help="only this schema of each hand")
    part.add_argument("--report", metavar="FILE", type=Path, help="also write the report as JSON")


if __name__ == "__main__":
    sys.exit(main())
