"""An argument's template taken apart: ``<parameter={key}>{value}</parameter>``.

What stands before ``{value}`` opens the argument, what stands after it closes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from random import Random as Rng
from typing import TypeAlias

from msgspec import Struct

from toolglot.errors import RenderError
from toolglot.formats.markers import GAP
from toolglot.formats.templates import Part, Template, fill, parts_of, slot_of

Slots: TypeAlias = "dict[str, str]"
"""What the slots of a template hold."""

_SPACE = "[ \t\r\n~]"
_TEXT = "[^ \t\r\n~{}]+"
_MARKED = re.compile(rf"(.*\}}{_SPACE}*{_TEXT})({_SPACE}+)({_TEXT})", re.DOTALL)
"""An opener whose end is a marker of its own, apart from the key."""
_SPACES = ("", "", "\n", " ", "\n\n", "\t ")


class ElementTemplate(Struct, frozen=True, dict=True):
    """The parts of an argument's template, and the whitespace that is canonical between them."""

    openers: tuple[str, ...]
    """The canonical spelling first, then those without attributes that may be missing."""
    gap: str
    mark: str
    """A marker before the value that stands apart from the opener, as ``<arg_value>``; else empty."""
    lead: str
    loose: bool
    """``~`` stands before the value: a newline there frames it, and then also one behind it."""
    trail: str
    closer: str
    """It may hold slots of the opener."""
    tail: str

    @cached_property
    def head(self) -> str:
        """The fixed text with which arguments begin."""
        return parts_of(self.openers[0])[0].value

    @cached_property
    def closer_head(self) -> str:
        """The fixed text with which closers begin."""
        return self._closer_parts[0].value

    @cached_property
    def keyed(self) -> bool:
        """The closer holds slots of the opener."""
        return any(part.kind not in ("text", "gap") for part in self._closer_parts)

    def closed(self, slots: Mapping[str, str]) -> str:
        """The closer of an argument whose opener holds ``slots``."""
        return fill(self._closer_parts, slots)

    def named(self, key: str) -> str:
        """The opener of an argument, up to its next slot."""
        parts = parts_of(self.openers[0])
        end = slot_of(parts) + 1
        return fill(parts[: end + slot_of(parts[end:])], {"key": key})

    def markers(self, slots: Slots, vary: Rng | None) -> tuple[str, str]:
        """An argument's opener and closer.

        Raises:
            RenderError: they would be read as others.
        """
        opener = written(self.openers[0], slots, vary)
        if opener.startswith(self.closer_head):
            raise RenderError(f"{slots!r} cannot be written: it would be read as a closer")
        return opener, self.closed(slots)

    @cached_property
    def _closer_parts(self) -> tuple[Part, ...]:
        return parts_of(self.closer)


@cache
def element_template(argument: str, optional: tuple[str, ...]) -> ElementTemplate:
    """Take a template apart. The slots named in ``optional`` may be missing, with the attribute that they stand in.

    Raises:
        ValueError: the template has no ``{value}``, or no text around it.
    """
    before, _, after = argument.partition("{value}")
    opener, closer = before.rstrip(GAP), after.strip(GAP)
    if not opener or not closer:
        raise ValueError(f"an argument's template needs text, {{value}}, and text: {argument!r}")
    lead, trail = before[len(opener) :], after[: after.find(closer)]
    marked = _MARKED.fullmatch(opener)
    opener, gap, mark = marked.groups() if marked else (opener, "", "")
    return ElementTemplate(
        openers=without_attributes(opener, optional),
        gap=_canonical(gap),
        mark=mark,
        lead=_canonical(lead),
        loose="~" in lead,
        trail=_canonical(trail),
        closer=closer,
        tail=_canonical(after[len(trail) + len(closer) :]),
    )


def without_attributes(template: str, optional: tuple[str, ...]) -> tuple[str, ...]:
    """A template, and those that lack attributes in which the slots named in ``optional`` stand."""
    found = [template]
    for slot in optional:
        found += [re.sub(rf"{_SPACE}+[^ \t\r\n~{{}}]*\{{{slot}(:\w+)?\}}", "", one) for one in found]
    return tuple(dict.fromkeys(found))


def written(template: str, slots: Slots, vary: Rng | None, *, stops: str = "") -> str:
    """Write a template: canonically, or with ``vary`` with other whitespace and quotes.

    Raises:
        RenderError: other slots would be read in it.
    """
    parts = parts_of(template)
    text = "".join(_varied(part, slots, vary) for part in parts) if vary else fill(parts, slots)
    found = Template(parts, stops).match(text + stops[:1], 0, eof=True)
    if found.end != len(text) or any(value != slots[name] for name, value in found.slots.items()):
        raise RenderError(f"{slots!r} cannot be written as {template!r}")
    return text


def spaced(gap: str, vary: Rng | None) -> str:
    """Whitespace between markers: as it is, or other whitespace."""
    return vary.choice(_SPACES) if vary else gap


def _varied(part: Part, slots: Slots, vary: Rng) -> str:
    if part.kind == "gap":
        return spaced("", vary)
    text = fill([part], slots)
    quoted = part.kind in ("attr", "xml") and "'" not in text
    return f"'{text[1:-1]}'" if quoted and vary.random() < 0.3 else text


def _canonical(gap: str) -> str:
    return gap.replace("~", "")
