"""What a run says, for people and for programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from strictness.schemas import LEVELS, Schema, Verdict
from strictness.trial import Fault, Outcome

_DETAIL = re.compile(r"'[^']*'|\"[^\"]*\"")


class Row(Struct, frozen=True):
    """What one parser did. ``schemas`` are those that finished calls came of; ``unwritable`` are those that its format
    cannot write, with the reasons. Calls that may be any object do not count.
    """

    parser: str
    aliases: tuple[str, ...]
    schemas: int
    calls: int
    valid: int
    unfinished: int
    unwritable: Mapping[str, str]


class Untaken(Struct, frozen=True):
    """A schema that is refused, or of which some keywords are not enforced."""

    id: str
    level: str
    keywords: tuple[str, ...]
    reason: str


class Report(Struct, frozen=True):
    """A run. ``faults`` are calls that broke schemas which the audit takes."""

    seed: int
    sources: Mapping[str, Mapping[str, int]]
    """Of each source of schemas, how many are exact, narrowed, relaxed and refused."""
    rows: tuple[Row, ...]
    faults: tuple[Fault, ...]
    relaxed_calls: int
    """Calls for schemas of which not all keywords are enforced, that broke them."""
    untaken: tuple[Untaken, ...]
    unplayed: tuple[str, ...]
    """Schemas that no finished call came of, with any parser."""
    least: int
    """How many schemas each parser is to have calls of."""
    seconds: float = 0.0

    @property
    def short(self) -> tuple[str, ...]:
        """The parsers that had calls of fewer schemas."""
        return tuple(row.parser for row in self.rows if row.schemas < self.least)

    @property
    def kept(self) -> bool:
        """Whether the promise was kept, by as much as was to be tried."""
        return not (self.faults or self.unplayed or self.short)

    @property
    def calls(self) -> int:
        """All finished calls."""
        return sum(row.calls for row in self.rows)


def sources(schemas: Iterable[Schema], verdicts: Mapping[str, Verdict]) -> dict[str, dict[str, int]]:
    """How many schemas of each source are of which level."""
    counts: dict[str, Counter[str]] = {}
    for schema in schemas:
        counts.setdefault(schema.source, Counter())[verdicts[schema.id].level] += 1
    return {source: dict(found) for source, found in counts.items()}


def untaken(verdicts: Mapping[str, Verdict]) -> tuple[Untaken, ...]:
    """The schemas that are refused or relaxed."""
    return tuple(
        Untaken(name, found.level, found.keywords, _reason(found))
        for name, found in verdicts.items()
        if found.level in ("refused", "relaxed")
    )


def _reason(found: Verdict) -> str:
    if found.refused is not None:
        return found.refused
    return "; ".join(f"{one.path}: {one.reason}" for one in found.findings if one.level == "unenforceable")


def rows(names: Mapping[str, tuple[str, ...]], outcomes: Sequence[Outcome]) -> tuple[Row, ...]:
    """The outcomes of each parser, added up."""
    found = {name: [one for one in outcomes if one.parser == name] for name in names}
    return tuple(_row(name, names[name], of_it) for name, of_it in found.items() if of_it)


def _row(name: str, aliases: tuple[str, ...], outcomes: Sequence[Outcome]) -> Row:
    return Row(
        parser=name,
        aliases=aliases,
        schemas=sum(len(one.called) for one in outcomes),
        calls=sum(one.calls - one.free for one in outcomes),
        valid=sum(one.valid for one in outcomes),
        unfinished=sum(one.unfinished for one in outcomes),
        unwritable={name: reason for one in outcomes for name, reason in one.unwritable.items()},
    )


def lines(report: Report) -> Iterator[str]:
    """The report as text."""
    of_sources = [
        [source, sum(found.values()), *(found.get(level, 0) for level in LEVELS)]
        for source, found in report.sources.items()
    ]
    of_parsers = [
        [row.parser, row.schemas, row.calls, row.valid, row.unfinished, len(row.unwritable)] for row in report.rows
    ]
    yield from _table(["source", "schemas", *LEVELS], of_sources)
    yield from _by_keyword(report.untaken)
    yield from _table(["parser", "schemas", "calls", "valid", "unfinished", "unwritable"], of_parsers)
    yield from _unwritable(report.rows)
    yield from map(_fault, report.faults)
    yield from (f"no call of the schema {name}" for name in report.unplayed)
    yield from (f"calls of fewer than {report.least} schemas: {name}" for name in report.short)
    yield (
        f"{report.calls} calls, {len(report.faults)} faults; {report.relaxed_calls} calls broke schemas that are not "
        f"enforced in full; seed {report.seed}, {report.seconds:.0f} s"
    )


def _unwritable(found: Sequence[Row]) -> Iterator[str]:
    """Why formats cannot write tools, each reason once."""
    reasons = Counter((row.parser, _DETAIL.sub("…", reason)) for row in found for reason in row.unwritable.values())
    for (parser, reason), count in sorted(reasons.items()):
        yield f"{parser} cannot write {count}: {reason}"


def _by_keyword(found: Sequence[Untaken]) -> Iterator[str]:
    for level in ("refused", "relaxed"):
        counts = Counter(keyword for one in found if one.level == level for keyword in one.keywords)
        listed = ", ".join(f"{keyword} {count}" for keyword, count in counts.most_common())
        yield f"{level}, by keyword: {listed or 'none'}"


def _fault(fault: Fault) -> str:
    markers = "tokens" if fault.tokens else "text"
    return "\n".join(
        (
            f"FAULT {fault.parser} (markers as {markers}, {fault.request}): {fault.violation}",
            f"  schema {fault.schema.id}: {fault.schema.sent}",
            f"  text: {fault.text!r}",
            f"  again: nox -s strict -- sample --parser {fault.parser} --schema '{fault.schema.id}'",
        )
    )


def _table(head: Sequence[str], body: Sequence[Sequence[object]]) -> Iterator[str]:
    cells = [head, *([str(cell) for cell in row] for row in body)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for name, *others in cells:
        figures = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        yield "  ".join([name.ljust(widths[0]), *figures])
