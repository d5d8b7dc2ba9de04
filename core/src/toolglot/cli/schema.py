"""``toolglot schema``: what a grammar enforces of a schema, keyword by keyword."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from toolglot.cli import reading
from toolglot.cli.arguments import UsageError
from toolglot.cli.table import print_table
from toolglot.errors import GrammarError

if TYPE_CHECKING:
    from toolglot.schemas import Finding

EPILOG = """\
examples:
  toolglot schema tools.json                  a JSON Schema, a tool, a list of tools, or a request's body
  some-program | toolglot schema --json -

exact: the grammar admits what the keyword says. narrowed: some valid values are not admitted. unenforceable: the
grammar leaves the keyword out, and a tool with `strict: true` is refused for it. A keyword that says
nothing has no level: look whether it is misspelt.
"""
HEADINGS = ("PATH", "KEYWORD", "LEVEL", "REASON")
_PARAMETERS = ("parameters", "inputSchema", "input_schema")
"""Where a tool has its schema that is not in OpenAI's nested form: OpenAI's flat one and BFCL's, MCP's, Anthropic's."""
_TOOL_TYPES = (None, "function", "custom")


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
    parser.add_argument(
        "--any-property-order",
        action="store_true",
        help="as a server with --tool-any-property-order: the order of properties is left to the model",
    )
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="the schemas (default: standard input)")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: Namespace) -> int:
    value = reading.read_json(arguments.file, "schema")
    verdicts = list(_verdicts(value, arguments.file, free_order=arguments.any_property_order))
    if arguments.json:
        print(json.dumps(msgspec.to_builtins(verdicts), indent=2))  # in ASCII: names may hold halves of surrogates
    else:
        for verdict in verdicts:
            _print(verdict)
        print(_closing(verdicts))
    return 0 if all(verdict.holds for verdict in verdicts) else 1


def _verdicts(value: Any, path: str, *, free_order: bool) -> Iterator[Verdict]:
    tools = _tools(value)
    if tools is None:
        yield _verdict("schema", value, arguments=False, free_order=free_order)
        return
    for tool in reading.checked_tools([_in_openai_form(tool) for tool in tools], path):
        function = tool["function"]
        parameters = function.get("parameters")
        name = function["name"]
        free = free_order and not function.get("strict")
        yield Verdict(name) if parameters is None else _verdict(name, parameters, arguments=True, free_order=free)


def _tools(value: Any) -> list[Any] | None:
    """The tools of a file, which holds one, a list, or an object with a list; None where it holds a schema."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    if _is_tool(value):
        return [value]
    listed = value.get("tools")
    return listed if isinstance(listed, list) and any(map(_is_tool, listed)) else None


def _is_tool(value: Any) -> bool:
    """Whether a value is meant as a tool: a schema may have members of the same names, but not all that tools have."""
    if not isinstance(value, dict):
        return False
    function = value.get("function")
    nested = "type" not in value and isinstance(function, dict) and isinstance(function.get("name"), str)
    return nested or value.get("type") == "function" or _is_flat(value)


def _is_flat(tool: Any) -> bool:
    """Whether a tool has its name and its schema side by side."""
    if not isinstance(tool, dict) or "function" in tool or not isinstance(tool.get("name"), str):
        return False
    kind = tool.get("type")
    return kind == "function" or (kind in _TOOL_TYPES and any(key in tool for key in _PARAMETERS))


def _in_openai_form(tool: Any) -> Any:
    """A flat tool in OpenAI's nested form; anything else as it is."""
    if not _is_flat(tool):
        return tool
    parameters = next((tool[key] for key in _PARAMETERS if key in tool), None)
    return {"type": "function", "function": {**tool, "parameters": parameters}}


def _verdict(name: str, schema: Any, *, arguments: bool, free_order: bool) -> Verdict:
    from toolglot.schemas import normalise

    if schema is None:  # which `normalise` takes for a tool without parameters
        return Verdict(name, refused="a JSON Schema is wanted, not null")
    try:
        findings = normalise(schema, arguments=arguments).findings
    except GrammarError as error:
        return Verdict(name, refused=str(error))
    return Verdict(name, _without_order(schema, findings) if free_order else findings)


def _without_order(schema: Any, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings where the order of properties is left to the model."""
    try:
        from toolglot.server.strict import left_out
    except ModuleNotFoundError as error:
        raise UsageError(f"--any-property-order needs {error.name}; try: pip install 'toolglot[server]'") from error
    lost = {finding.path: finding for finding in left_out(schema, findings, free_order=True)}
    return tuple(lost.get(finding.path, finding) for finding in findings)


def _print(verdict: Verdict) -> None:
    print(_printable(verdict.name))
    if verdict.refused is not None:
        print(f"refused: {_printable(verdict.refused)}")
    else:
        rows = [(one.path, one.keyword, _level(one) or "-", one.reason) for one in verdict.findings]
        if rows:
            print_table([HEADINGS, *(tuple(map(_printable, row)) for row in rows)])
        if not any(map(_level, verdict.findings)):
            print("no keyword of it says anything of values")
    print()


def _level(finding: Finding) -> str | None:
    """The level of a keyword, if it says anything."""
    from toolglot.schemas.audit import SAYS_NOTHING

    return None if finding.reason == SAYS_NOTHING else finding.level


def _printable(text: str) -> str:
    """A text with what would steer the terminal, or cannot be encoded, escaped."""
    return "".join(char if char.isprintable() else _escape(ord(char)) for char in text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _closing(verdicts: Sequence[Verdict]) -> str:
    """How much of all schemas is enforced, in one line."""
    count = Counter(_level(finding) for verdict in verdicts for finding in verdict.findings)
    refused = sum(verdict.refused is not None for verdict in verdicts)
    levels = ", ".join(f"{count[level]} {level}" for level in ("exact", "narrowed", "unenforceable"))
    return f"schemas: {len(verdicts)}, refused: {refused}; keywords: {levels}, {count[None]} say nothing"
