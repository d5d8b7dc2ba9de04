"""A client's schema in normal form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from toolglot.errors import GrammarError
from toolglot.schemas import limits
from toolglot.schemas.audit import Normalised
from toolglot.schemas.document import Document
from toolglot.schemas.pointer import placed
from toolglot.schemas.settling import settled
from toolglot.schemas.unsettled import TYPED
from toolglot.schemas.walk import Walk

_CACHED_CHARACTERS = 100_000
"""The longest schema that is remembered."""
_NO_PARAMETERS = {"type": "object", "additionalProperties": False}


def normalise(schema: Mapping[str, Any] | bool | None, *, arguments: bool = True) -> Normalised:
    """A schema in normal form, with what became of each of its keywords.

    Args:
        schema: A JSON Schema of any draft, in OpenAPI's or BFCL's spelling too. None is that of a tool without
            parameters: an empty object.
        arguments: Whether it is the schema of a tool's arguments, which are an object, whatever it says.

    Raises:
        GrammarError: it is no schema, it is over the limits, it refers to nothing, or it admits no value. The message
            begins with a JSON pointer to the place, unless that is the schema as a whole.
    """
    try:
        limits.check(schema)
        text = _text(_NO_PARAMETERS if schema is None else schema)
        make = _remembered if len(text) <= _CACHED_CHARACTERS else _normalised
        return make(text, arguments)
    except RecursionError as error:
        raise GrammarError("the schema is nested too deeply") from error


def _text(schema: Mapping[str, Any] | bool) -> str:
    try:
        return json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise GrammarError(f"the schema is no JSON: {error}") from error


def _normalised(text: str, arguments: bool) -> Normalised:
    walk = Walk(Document(json.loads(text)))
    root = walk.definition("", positive=True)
    if arguments:
        root = walk.algebra.intersect(TYPED["object"], root)
    normal = settled(root, walk.finish())
    if normal is None:
        place = walk.culprit()
        kind = "object" if arguments and not place else "value"
        lost = any(one.level == "narrowed" for one in walk.audit.findings)
        said = f"the schema admits no {kind}{' that a grammar can be made for' if lost else ''}"
        raise GrammarError(placed(place, said))
    walk.judge_counts(normal)
    return Normalised(normal, walk.audit.findings)


_remembered = lru_cache(maxsize=256)(_normalised)
