"""The suite's figures in a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from strictness.schemas import LEVELS

if TYPE_CHECKING:
    from strictness.suite import Checked

OPENED, CLOSED = "<!-- strict:table -->", "<!-- /strict:table -->"
_HEAD = (*LEVELS, "valid instances admitted", "invalid instances admitted")


def of_suite(checked: Iterable[Checked]) -> list[str]:
    """A Markdown table: of each draft, the schemas of each level, and the instances that the grammars admit."""
    kinds: dict[str, list[Checked]] = {}
    for one in checked:
        kinds.setdefault(one.group.kind, []).append(one)
    rows = [_row(kind, found) for kind, found in kinds.items()]
    return [_line(("", "schemas", *_HEAD)), _line(["---"] * (len(_HEAD) + 2)), *map(_line, rows)]


def write(page: Path, lines: Iterable[str]) -> None:
    """Put lines between the marks of a page.

    Raises:
        ValueError: the page has no marks.
    """
    before, opened, rest = page.read_text("utf-8").partition(OPENED)
    _, closed, after = rest.partition(CLOSED)
    if not (opened and closed):
        raise ValueError(f"{page} has no place for the table: {OPENED} and {CLOSED}")
    page.write_text(before + "\n\n".join((OPENED, "\n".join(lines), CLOSED)) + after, "utf-8")


def _row(kind: str, found: Sequence[Checked]) -> list[str]:
    levels = [one.verdict.level for one in found]
    shares = [f"{levels.count(level)} ({100 * levels.count(level) / len(found):.0f} %)" for level in LEVELS]
    valid, admitted = sum(one.valid for one in found), sum(one.admitted for one in found)
    return [kind, str(len(found)), *shares, f"{admitted} of {valid}", str(sum(len(one.wrong) for one in found))]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
