"""``toolglot schema``: what a grammar enforces of a schema, keyword by keyword."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from toolglot.cli import reading
from toolglot.cli.table import print_table
from toolglot.errors import GrammarError

if TYPE_CHECKING:
    from toolglot.schemas import Finding

EPILOG = """\
examples:
  toolglot schema tools.json                  a JSON Schema, a tool, or a list of tools as in a request's `tools`
  some-program | toolglot schema --json -

exact: the grammar admits what the keyword says. narrowed: some valid values are not admitted. unenforceable: the
grammar leaves the keyword out, and a tool with `strict: true` is refused for it.
"""
HEADINGS = ("PATH", "KEYWORD", "LEVEL", "REASON")


class Verdict(msgspec.Struct, frozen=True):
    """What becomes of one schema: its keywords, or why it is refused."""

    name: str
    findings: tuple[Finding, ...] = ()
    refused: str | None = None

    @property
    def holds(self) -> bool:
        """Whether whatever the grammar admits is valid."""
        return self.refused is None and all(finding.level != "unenforceable" for finding in self.findings)


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "schema",
        help="say what a grammar enforces of a schema",
        description="Say of every keyword of a schema whether a grammar enforces it. Exit code 1: not all of it.",
        epilog=EPILOG,
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array, an object for each schema")
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="the schemas (default: standard input)")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: Namespace) -> int:
    verdicts = list(_verdicts(reading.read_json(arguments.file, "schema"), arguments.file))
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(verdicts), indent=2).decode())
    else:
        for verdict in verdicts:
            _print(verdict)
        print(_closing(verdicts))
    return 0 if all(verdict.holds for verdict in verdicts) else 1


def _verdicts(value: Any, path: str) -> Iterator[Verdict]:
    tools = [value] if isinstance(value, dict) and "function" in value else value
    if not isinstance(tools, list):
        yield _verdict("schema", value, arguments=False)
        return
    for tool in reading.checked_tools(tools, path):
        function = tool["function"]
        parameters = function.get("parameters")
        name = function["name"]
        yield Verdict(name) if parameters is None else _verdict(name, parameters, arguments=True)


def _verdict(name: str, schema: Any, *, arguments: bool) -> Verdict:
    from toolglot.schemas import normalise

    try:
        return Verdict(name, normalise(schema, arguments=arguments).findings)
    except GrammarError as error:
        return Verdict(name, refused=str(error))


def _print(verdict: Verdict) -> None:
    print(verdict.name)
    if verdict.refused is not None:
        print(f"refused: {verdict.refused}")
    elif verdict.findings:
        rows = [(one.path, one.keyword, one.level, one.reason) for one in verdict.findings]
        print_table([HEADINGS, *rows])
    else:
        print("it says nothing that needs enforcing")
    print()


def _closing(verdicts: Sequence[Verdict]) -> str:
    """How much of all schemas is enforced, in one line."""
    count = Counter(finding.level for verdict in verdicts for finding in verdict.findings)
    refused = sum(verdict.refused is not None for verdict in verdicts)
    levels = ", ".join(f"{count[level]} {level}" for level in ("exact", "narrowed", "unenforceable"))
    return f"schemas: {len(verdicts)}, refused: {refused}; keywords: {levels}"
