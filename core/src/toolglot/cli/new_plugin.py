"""``toolglot new-plugin``: write a package with a parser that works, for its author to fill in."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from toolglot.cli.arguments import UsageError

EPILOG = """\
examples:
  toolglot new-plugin my_format
  toolglot new-plugin my_format --into plugins
"""

FILES: Mapping[str, str | None] = {
    "pyproject.toml": "pyproject.toml.tmpl",
    "README.md": "README.md.tmpl",
    "src/$module/__init__.py": "module.py.tmpl",
    "src/$module/py.typed": None,
    "tests/test_conformance.py": "test_conformance.py.tmpl",
    "tests/cases/made.jsonl": "made.jsonl.tmpl",
}
"""The files of a package, and what they are made from; None: an empty file."""


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "new-plugin",
        help="write a package with a new parser",
        description="Write a package with a new parser, which works as it is and is to be filled in.",
        epilog=EPILOG,
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="the parser's name, for --tool-call-parser")
    parser.add_argument("--into", metavar="DIR", default=".", help="where to put the package's folder (default: .)")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: Namespace) -> int:
    folder = write_package(check_name(arguments.name), Path(arguments.into))
    print(f"{folder} is written. Fill in what is marked CHANGE ME, then: toolglot check {folder}")
    return 0


def check_name(name: str | None) -> str:
    """``name``, if a parser can have it. Raises UsageError."""
    from toolglot import parser_names

    if name is None:
        raise UsageError("NAME is missing: the parser's name, such as my_format")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UsageError(f"{name!r} is no name for a parser; take lower-case letters, digits and _, such as my_format")
    if name in parser_names():
        raise UsageError(f"a parser {name!r} is installed already; `toolglot parsers` lists the names that are taken")
    return name


def write_package(name: str, into: Path) -> Path:
    """Write the package of the parser ``name`` and return its folder. Raises UsageError when it exists or cannot be."""
    module = f"toolglot_{name}"
    words = {"name": name, "module": module, "distribution": re.sub("_+", "-", module).strip("-")}
    words["title"] = name.title().replace("_", "")
    folder = into / words["distribution"]
    try:
        folder.mkdir(parents=True)
        for path, template in FILES.items():
            target = folder / Template(path).substitute(words)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_filled(template, words), "utf-8")
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; nothing is overwritten") from error
    return folder


def _filled(template: str | None, words: Mapping[str, str]) -> str:
    if template is None:
        return ""
    return Template((files("toolglot.cli") / "scaffold" / template).read_text("utf-8")).substitute(words)
