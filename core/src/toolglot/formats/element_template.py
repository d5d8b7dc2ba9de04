"""An argument's template taken apart: ``<parameter={key}>\\n{value}\\n</parameter>\\n``.

What stands before ``{value}`` opens the argument, what stands after it closes it.
"""

from __future__ import annotations

import re
from functools import cache, cached_property

from msgspec import Struct

from toolglot.formats.markers import GAP, WHITESPACE
from toolglot.formats.templates import Part, parts_of

_SPACE = "[ \t\r\n~]"
_TEXT = "[^ \t\r\n~{}]+"
_MARKED = re.compile(rf"(.*\}}{_SPACE}*{_TEXT})({_SPACE}+)({_TEXT})", re.DOTALL)
"""An opener whose end is a marker of its own, apart from the key."""


class ElementTemplate(Struct, frozen=True, dict=True):
    """The parts of an argument's template. ``openers``: the canonical spelling first, then those without attributes
    that may be missing.
    """

    openers: tuple[str, ...]
    gap: str
    """The canonical whitespace between the opener and ``mark``."""
    mark: str
    """A marker before the value that stands apart from the opener, as ``<arg_value>``; else empty."""
    lead: str
    """The canonical whitespace between opener and value; it is no part of the value."""
    loose: bool
    """``~`` stands next to the value: a newline there frames it, if there is one on the opener's side."""
    trail: str
    """The canonical whitespace between value and closer."""
    closer: str
    """It may hold slots of the opener."""
    tail: str
    """The canonical whitespace behind the closer."""

    @cached_property
    def head(self) -> str:
        """The fixed text with which arguments begin."""
        return parts_of(self.openers[0])[0].value

    @cached_property
    def closer_parts(self) -> tuple[Part, ...]:
        """The pieces of the closer."""
        return parts_of(self.closer)


@cache
def element_template(argument: str, optional: tuple[str, ...]) -> ElementTemplate:
    """Take a template apart. The slots named in ``optional`` may be missing, with the attribute that they stand in.

    Raises:
        ValueError: the template has not exactly one ``{value}``, or nothing to find it by.
    """
    before, _, after = argument.partition("{value}")
    opener, closer = before.rstrip(GAP), after.strip(GAP)
    if not opener or not closer or "{value}" in closer:
        raise ValueError(f"an argument's template needs text, then {{value}}, then text: {argument!r}")
    lead, trail = before[len(opener) :], after[: after.find(closer)]
    found = _MARKED.fullmatch(opener)
    opener, gap, mark = found.groups() if found else (opener, "", "")
    return ElementTemplate(
        openers=_spellings(opener, optional),
        gap=_written(gap),
        mark=mark,
        lead=_written(lead),
        loose="~" in lead,
        trail=_written(trail),
        closer=closer,
        tail=_written(after[len(trail) + len(closer) :]),
    )


def spellings_without(template: str, optional: tuple[str, ...]) -> tuple[str, ...]:
    """A template, and those that lack the attributes of ``optional`` slots."""
    return _spellings(template, optional)


def _spellings(template: str, optional: tuple[str, ...]) -> tuple[str, ...]:
    found = [template]
    for slot in optional:
        found += [re.sub(rf"{_SPACE}+[^ \t\r\n~{{}}]*\{{{slot}(:\w+)?\}}", "", one) for one in found]
    return tuple(dict.fromkeys(found))


def _written(gap: str) -> str:
    return gap.replace("~", "")


assert set(GAP) == {*WHITESPACE, "~"}
