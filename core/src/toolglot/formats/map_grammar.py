"""What a grammar admits as a map: keys in the order of the schema, strings between their marker.

Of what a schema says about strings, ``enum``, ``const`` and lengths are enforced; within quotes that hold JSON (see
``quoted="all"``) everything that XGrammar enforces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from toolglot.errors import GrammarError
from toolglot.formats.bare_value import Subschema
from toolglot.formats.json_text import arguments_schema
from toolglot.formats.json_tokens import tokens
from toolglot.formats.map_reader import Quoting
from toolglot.formats.map_text import MapWriter
from toolglot.formats.python_grammar import IDENTIFIER, PythonStyle
from toolglot.formats.schema_merge import merged
from toolglot.formats.value_grammar import Style, Values, either, series
from toolglot.structural_tag import AnyText, ConstString, Format, JsonSchema, Optional, Or, Regex, Repeat, Tag

if TYPE_CHECKING:
    from toolglot.requests import Tool

_MAX_DEPTH = 2
"""How many containers may stand within each other in a value of which the schema says nothing."""


class MapStyle(Style):
    """Values as in a map whose strings are marked."""

    comma = ","

    def __init__(self, form: Quoting) -> None:
        self._quote = form.quote
        self._writer = MapWriter(form, None)

    def string(self, keywords: Mapping[str, Any]) -> Format:
        least, most = keywords.get("minLength", 0), keywords.get("maxLength")
        if not least and most is None:
            return Tag(self._quote, AnyText(), self._quote)
        other = f"[^{self._quote[0]}]" + f"{{{least},{'' if most is None else most}}}"
        return series(ConstString(self._quote), Regex(other), ConstString(self._quote))

    def literal(self, value: Any) -> str:
        return self._writer.value(tokens(msgspec.json.encode(value).decode()))

    def key(self, key: str) -> str:
        return f"{self._writer.key(key)}:"

    def any_key(self) -> Format:
        return series(IDENTIFIER, ConstString(":"))

    def any_value(self, depth: int = _MAX_DEPTH) -> Format:
        constants = [ConstString(self.literal(value)) for value in (True, False, None)]
        scalar = Or((self.string({}), JsonSchema({"type": "number"}), *constants))
        if not depth:
            return scalar
        inner = self.any_value(depth - 1)
        return Or((scalar, self._list("[", inner, "]"), self._list("{", series(self.any_key(), inner), "}")))

    def _list(self, opener: str, item: Format, closer: str) -> Format:
        items = series(item, Repeat(0, -1, series(ConstString(self.comma), item)))
        return series(ConstString(opener), Optional(items), ConstString(closer))


class _Arguments:
    """Values that stand in quotes wherever their type is known: strings as they are, others as JSON."""

    def __init__(self, form: Quoting, root: Mapping[str, Any]) -> None:
        self._quote = ConstString(form.quote)
        self._root = root
        self._strings = Values(MapStyle(form), root)
        self._others = Values(PythonStyle("json", (form.quote,)), root)

    def value(self, schema: Any) -> Format | None:
        types = Subschema(schema, self._root).types
        if not types:
            return self._strings.value(schema)
        text = self._strings.value(merged(schema, {"type": ["string"]})) if "string" in types else None
        others = sorted(types - {"string"})
        value = self._others.value(merged(schema, {"type": others})) if others else None
        return either([text, value and series(self._quote, value, self._quote)])


def map_members(tool: Tool, form: Quoting) -> Format:
    """What stands between the braces of a call of ``tool``.

    Raises:
        GrammarError: the tool's schema admits nothing that could be written.
    """
    schema, style = arguments_schema(tool), MapStyle(form)
    value = _Arguments(form, schema).value if form.quoted == "all" else None
    found = Values(style, schema).members(schema, style, value)
    if found is None:
        raise GrammarError(f"the schema of {tool.name!r} admits no arguments that could be written", param="tools")
    return found
