"""The schemas that are tried: BFCL's, those of the JSON-Schema-Test-Suite, and those of agents and MCP servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from strictness.referee import Draft
from strictness.wrapping import MAPS, wrapped
from toolglot.bench import bfcl
from toolglot.bench.agents import tool_sets
from toolglot.errors import GrammarError
from toolglot.schemas import Finding, normalise

DRAFTS: dict[Draft, str] = {"2020-12": "draft2020-12", "7": "draft7"}
"""The suite's folder of each draft."""
_DIALECTS: dict[Draft, str] = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "7": "http://json-schema.org/draft-07/schema#",
}
LEVELS = ("exact", "narrowed", "relaxed", "refused")
"""Of schemas, the best first."""
_NOTES = ("description", "default", "title", "response")


class Schema(Struct, frozen=True):
    """A tool's schema: as a client sends it, and as the referee reads it."""

    id: str
    source: str
    tool: str
    sent: Any
    judged: Any
    draft: Draft = "2020-12"


class Verdict(Struct, frozen=True):
    """What the audit says of a schema."""

    findings: tuple[Finding, ...] = ()
    refused: str | None = None

    @property
    def level(self) -> str:
        """One of LEVELS."""
        if self.refused is not None:
            return "refused"
        levels = {finding.level for finding in self.findings}
        return "relaxed" if "unenforceable" in levels else "narrowed" if "narrowed" in levels else "exact"

    @property
    def keywords(self) -> tuple[str, ...]:
        """The keywords for which it is not taken; where a schema as a whole is refused, the reason."""
        if self.refused is not None:
            if not self.refused.startswith("/"):  # then it is the schema as a whole
                return (self.refused,)
            pointer, _, reason = self.refused.partition(": ")
            *_, holder, keyword = pointer.split("/")
            return (reason if holder in MAPS else keyword,)
        return tuple(sorted({one.keyword for one in self.findings if one.level == "unenforceable"}))


def verdict(schema: Any, *, arguments: bool = True) -> Verdict:
    """Audit a schema."""
    try:
        return Verdict(normalise(schema, arguments=arguments).findings)
    except GrammarError as error:
        return Verdict(refused=str(error))


def every(bfcl_data: Path, suite: Path) -> list[Schema]:
    """All schemas; of those that differ in descriptions only, the first."""
    found: dict[str, Schema] = {}
    for schema in (*_agents(), *_bfcl(bfcl_data), *_suite(suite)):
        found.setdefault(json.dumps([schema.draft, _bare(schema.sent)], sort_keys=True), schema)
    return list(found.values())


def with_dialect(schema: Any, draft: Draft) -> Any:
    """A schema that says its draft, as those of old drafts must; the suite leaves it out."""
    return {"$schema": _DIALECTS[draft], **schema} if isinstance(schema, dict) else schema


def groups(suite: Path, draft: Draft, folder: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The groups of tests of a draft in one folder, each with its name."""
    for path in sorted((suite / "tests" / DRAFTS[draft] / folder).glob("*.json")):
        for number, group in enumerate(json.loads(path.read_text("utf-8"))):
            yield f"{DRAFTS[draft]}/{path.stem}/{number}", group


def _agents() -> Iterator[Schema]:
    for name, found in tool_sets().items():
        for tool in found.tools:
            draft: Draft = "7" if "$schema" in tool.parameters else "2020-12"
            yield Schema(f"{name}/{tool.name}", "agents", tool.name, tool.parameters, tool.parameters, draft)


def _bfcl(data: Path) -> Iterator[Schema]:
    for number, function in bfcl.functions(data):
        sent = function["parameters"]
        yield Schema(number, "BFCL", bfcl.tool_name(function["name"]), sent, bfcl.json_schema(sent))


def _suite(suite: Path) -> Iterator[Schema]:
    for draft in DRAFTS:
        for name, group in groups(suite, draft):
            sent = wrapped(with_dialect(group["schema"], draft))
            yield Schema(name, "suite", bfcl.tool_name(name), sent, sent, draft)


def _bare(schema: Any) -> Any:
    """A schema without what only people read. Names of properties stay."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    notes = {keyword for keyword in _NOTES if not isinstance(schema.get(keyword), dict)}
    return {keyword: _bare(value) for keyword, value in schema.items() if keyword not in notes}
