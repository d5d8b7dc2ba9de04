"""What a grammar must know of a tool: its name, and what arguments it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from toolglot.errors import GrammarError
from toolglot.formats.ebnf import one_of, text
from toolglot.formats.value_grammar import ValueGrammar, objects
from toolglot.schemas.normal import Normal, Object
from toolglot.structural_tag import Grammar

if TYPE_CHECKING:
    from toolglot.formats.bare_value import Subschema

Marker = Callable[[str], str]


class Signature(Struct, frozen=True):
    """A tool as its calls are constrained."""

    name: str
    arguments: Normal
    schema: Subschema | None = None
    """By what the reader types values that are written without their type; None: it takes them as strings."""
    any_order: bool = False
    """Whether members come in any order; that they are there, and once, is then not held."""
    marker: Marker = text
    """How a marker stands in a grammar: by id where it is a token."""

    @property
    def objects(self) -> Iterator[Object]:
        """The objects that the arguments may be."""
        return objects(self.arguments.root, self.arguments.definitions)

    def grammar(self, values: ValueGrammar, options: list[str | None]) -> Grammar:
        """The grammar of all arguments, which may be written in one of several ways.

        Raises:
            GrammarError: in none. The message says why, if ``values`` knows.
        """
        found = [one for one in options if one is not None]
        if not found:
            reason = values.faults[0] if values.faults else "no value of its schema can be written"
            raise GrammarError(f"it cannot be called in this format: {reason}", param="tools")
        return Grammar(values.rules.grammar(one_of(one or '""' for one in found)))
