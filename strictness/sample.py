"""Let all parsers play, and report."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence

import msgspec

from strictness import report
from strictness.deal import deal, parsers
from strictness.processes import in_processes
from strictness.schemas import Schema, Verdict, every, verdict
from strictness.trial import Fault, Outcome, run
from toolglot.bench import bfcl

_PART = 50
"""Schemas that a process audits at a time."""
_SPARE = 1.2
"""Some schemas of a hand may be ones that the parser's format cannot write."""


def sample(arguments: Namespace) -> int:
    """Run all trials, print the report, and write it where it is wanted. Exit code 1: the promise was not kept."""
    started = time.monotonic()
    schemas = every(bfcl.folder(), arguments.suite)
    parts = [schemas[at : at + _PART] for at in range(0, len(schemas), _PART)]
    verdicts = {name: one for part in in_processes("Auditing schemas", _audit, parts) for name, one in part.items()}
    playable = [schema for schema in schemas if verdicts[schema.id].level != "refused"]
    names = parsers()
    trials = deal(tuple(names), playable, each=round(_SPARE * arguments.each), seed=arguments.seed)
    mine = [
        msgspec.structs.replace(trial, only=arguments.schema)
        for trial in trials
        if arguments.parser in (None, trial.parser, *names[trial.parser])
    ]
    outcomes = in_processes("Writing calls", run, mine)
    whole = arguments.parser is None and arguments.schema is None
    made = _report(arguments, schemas, verdicts, outcomes, playable if whole else ())
    made = msgspec.structs.replace(made, seconds=time.monotonic() - started)
    if arguments.report:
        arguments.report.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1))
    for line in report.lines(made):
        print(line)
    return int(not made.kept)


def _audit(schemas: Sequence[Schema]) -> dict[str, Verdict]:
    return {schema.id: verdict(schema.sent) for schema in schemas}


def _report(
    arguments: Namespace,
    schemas: Sequence[Schema],
    verdicts: Mapping[str, Verdict],
    outcomes: Sequence[Outcome],
    playable: Sequence[Schema],
) -> report.Report:
    """``playable`` are the schemas of which there should be calls."""
    found = [fault for outcome in outcomes for fault in outcome.faults]
    faults = tuple(fault for fault in found if not _relaxed(fault, verdicts))
    called = {name for outcome in outcomes for name in outcome.called}
    return report.Report(
        seed=arguments.seed,
        sources=report.sources(schemas, verdicts),
        rows=report.rows(parsers(), outcomes),
        faults=faults,
        relaxed_calls=len(found) - len(faults),
        untaken=report.untaken(verdicts),
        unplayed=tuple(schema.id for schema in playable if schema.id not in called),
        least=arguments.each if playable else 0,
    )


def _relaxed(fault: Fault, verdicts: Mapping[str, Verdict]) -> bool:
    """Whether the fault is one that the audit told of."""
    return fault.of_schema and verdicts[fault.schema.id].level == "relaxed"
