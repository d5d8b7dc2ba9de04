"""``response_format``: what a client wants the content to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from toolglot.errors import GrammarError
from toolglot.schemas import Normalised, normalise

SCHEMA = "response_format.json_schema.schema"
"""The field that holds the schema."""
ANY_OBJECT = {"type": "object"}


class ResponseFormat(Struct, frozen=True):
    """The schema of the content, under the name that the client gave it."""

    name: str
    schema: Mapping[str, Any] | bool
    strict: bool = False
    """Whether a keyword that no grammar can enforce refuses the request."""

    def normalised(self) -> Normalised:
        """The schema as a grammar takes it, and what became of its keywords.

        Raises:
            GrammarError: it is no schema, admits nothing, or is strict and not all of it can be enforced.
        """
        try:
            found = normalise(self.schema, arguments=False)
        except GrammarError as error:
            raise GrammarError(f"`response_format`: {error}", param=SCHEMA) from error
        if self.strict and found.relaxed:
            first = found.relaxed[0]
            message = f"`response_format` is strict, and {first.path} cannot be enforced: {first.reason}"
            raise GrammarError(message, param=SCHEMA)
        return found
