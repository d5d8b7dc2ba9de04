"""The JSON-Schema-Test-Suite: what the grammar of a schema admits of its instances."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from strictness import table
from strictness.processes import in_processes
from strictness.schemas import DRAFTS, Verdict, groups, verdict, with_dialect
from toolglot.errors import GrammarError
from toolglot.formats.json_grammar import json_value
from toolglot.schemas import normalise
from toolglot.structural_tag import StructuralTag
from toolglot.testing.sampling import Sampler, vocabulary

FORMATS = "optional/format"
"""The folder of tests in which ``format`` counts."""
_PART = 20
"""Groups of tests that a process takes at a time."""


class Group(Struct, frozen=True):
    """A schema with its instances."""

    id: str
    kind: str
    """The draft; formats are a kind of their own."""
    schema: Any
    tests: tuple[dict[str, Any], ...]


class Checked(Struct, frozen=True):
    """What the grammar of a schema does with its instances: how many valid ones it admits, and what is wrong."""

    group: Group
    verdict: Verdict
    valid: int = 0
    admitted: int = 0
    wrong: tuple[str, ...] = ()


def check(arguments: Namespace) -> int:
    """Check all groups, print what came of it, and write it into a page. Exit code 1: an invalid one is admitted."""
    found = list(_groups(arguments.suite))
    parts = [found[at : at + _PART] for at in range(0, len(found), _PART)]
    checked = [one for part in in_processes("Checking the suite", _checked, parts) for one in part]
    for line in _lines(checked):
        print(line)
    if arguments.page:
        table.write(arguments.page, table.of_suite(checked))
    return int(any(one.wrong for one in checked))


def _groups(suite: Path) -> Iterator[Group]:
    for draft in DRAFTS:
        for kind, folder in ((f"draft {draft}", ""), (f"draft {draft}, formats", FORMATS)):
            for name, group in groups(suite, draft, folder):
                yield Group(name, kind, with_dialect(group["schema"], draft), tuple(group["tests"]))


def _checked(found: Iterable[Group]) -> list[Checked]:
    return [_one(group) for group in found]


def _one(group: Group) -> Checked:
    said = verdict(group.schema, arguments=False)
    if said.level in ("refused", "relaxed"):
        return Checked(group, said)
    try:
        tag = StructuralTag(json_value(normalise(group.schema, arguments=False).normal))
    except GrammarError as error:
        return Checked(group, Verdict(refused=str(error)))
    try:
        return judged(group, said, tag)
    except GrammarError as error:
        return Checked(group, said, wrong=(f"the grammar does not compile: {error}",))


def judged(group: Group, said: Verdict, tag: StructuralTag) -> Checked:
    valid = [test for test in group.tests if test["valid"]]
    wrong = [test for test in group.tests if not test["valid"] and _admits(tag, group, test["data"])]
    return Checked(
        group=group,
        verdict=said,
        valid=len(valid),
        admitted=sum(_admits(tag, group, test["data"]) for test in valid),
        wrong=tuple(f"it admits {json.dumps(test['data'])} ({test['description']})" for test in wrong),
    )


def _admits(tag: StructuralTag, group: Group, value: Any) -> bool:
    """Whether the grammar admits one of the ways to write a value."""
    ordered = _in_order(value, json.dumps(group.schema))
    texts = {json.dumps(one, ensure_ascii=escaped) for one in (value, ordered) for escaped in (True, False)}
    return any(_sampler().admits(tag, text) for text in texts)


def _in_order(value: Any, schema: str) -> Any:
    """A value with the members of its objects in the order in which the schema names them."""
    if isinstance(value, list):
        return [_in_order(item, schema) for item in value]
    if not isinstance(value, dict):
        return value
    place = {key: schema.find(f"{json.dumps(key)}: ") for key in value}
    ordered = sorted(value, key=lambda key: place[key] if place[key] >= 0 else len(schema))
    return {key: _in_order(value[key], schema) for key in ordered}


@cache
def _sampler() -> Sampler:
    """With the bytes as tokens."""
    return Sampler(vocabulary((), ()), ())


def _lines(checked: list[Checked]) -> Iterator[str]:
    yield from table.of_suite(checked)
    for level in ("refused", "relaxed"):
        counts = Counter(word for one in checked if one.verdict.level == level for word in one.verdict.keywords)
        listed = ", ".join(f"{keyword} {count}" for keyword, count in counts.most_common())
        yield f"{level}, by keyword: {listed or 'none'}"
    for one in checked:
        for wrong in one.wrong:
            yield f"FAULT {one.group.id}: {wrong}\n  schema: {json.dumps(one.group.schema)}"
