"""What stands inside a call's frame: the base of every body."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import TYPE_CHECKING, Self, TypeAlias

from msgspec import Struct

from toolglot.structural_tag import Regex

if TYPE_CHECKING:
    from toolglot.events import Call
    from toolglot.formats.cursor import Reading
    from toolglot.formats.machine import Machine
    from toolglot.formats.signature import Signature
    from toolglot.requests import Tool
    from toolglot.structural_tag import Format

    Pieces: TypeAlias = "tuple[str | Format, ...]"
    """What a call may be written as: fixed text, in which markers may stand, and formats between."""


NUMBER = Regex("[0-9]{1,3}")
"""What the grammar admits as a call's number."""
OWN_ID = Regex("[A-Za-z0-9]{9}")
"""What it admits as an id that the model makes up."""
NO_ID = "000000000"
"""What is rendered for a call without an id."""


class Freedom(Random):
    """The choices of one rendering that varies."""

    bare = False
    """The call's opener could be ordinary text, so less is read as a call: see ``Machine.bare``."""


class Body(Struct, frozen=True):
    """One call without its frame. Each kind keeps its reader, renderer and grammar side by side in one file."""

    @property
    def first(self) -> str:
        """The text with which it begins, where that is fixed; else empty."""
        return ""

    @property
    def heads(self) -> tuple[str, ...]:
        """The templates of its header, where it begins with one."""
        return ()

    @property
    def markers(self) -> Iterable[str]:
        """The templates in which markers may stand."""
        return ()

    @property
    def verbatim(self) -> bool:
        """The arguments are JSON in the output, and are passed on as they are written."""
        return False

    def exactly(self) -> Self:
        """The part of it that its grammar writes."""
        return self

    def encoded(self, encode: Callable[[str], str]) -> Self:  # noqa: ARG002  # for those with markers
        """The same with each marker token as its private code unit."""
        return self

    def read(self, machine: Machine) -> Reading[None]:
        """Read one at the machine's cursor."""
        raise NotImplementedError

    def render(self, call: Call, index: int, tool: Tool | None, vary: Freedom | None) -> str:
        """Write the ``index``-th call canonically, or with ``vary`` in any way that the reader grants.

        Raises:
            RenderError: the call holds a value that cannot be expressed.
        """
        raise NotImplementedError

    def grammar(self, signature: Signature) -> Pieces:
        """What the model may write to call a tool.

        Raises:
            GrammarError: no call of it can be written.
        """
        raise NotImplementedError
