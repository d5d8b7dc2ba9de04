"""What a grammar admits as a value that is written without its type, such that the reader types it as it was meant.

A text is what :class:`~toolglot.formats.bare_value.Subschema` takes it for. So a string is left out that would be read
as a value of another type, unless every value of that type is admitted as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from toolglot.formats.json_grammar import JsonGrammar
from toolglot.formats.text_grammar import TextGrammar
from toolglot.formats.value_grammar import ANY_OBJECT, alternatives
from toolglot.schemas.language import Language, TooLargeError, anything, pattern
from toolglot.schemas.normal import Anything, Array, Constants, Node, Number, Object, Others, String

if TYPE_CHECKING:
    from toolglot.formats.bare_value import Subschema

_SPACE = r"[\s\x1c-\x1f\x85]*"
"""What Python strips."""
_WORDS = {"null": "[nN][uU][lL][lL]|None", "boolean": "[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]"}
_INTEGER = "-?(?:0|[1-9][0-9]*)"
_NUMBER = rf"{_INTEGER}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_CONTAINER = r"[\[{(][\s\S]*"
_UNTYPED = r"[-+.0-9\[{(\"'][\s\S]*|[rRbBuUfF]+[\"'][\s\S]*|" + "|".join(_WORDS.values())
"""A text that could be read as something else where no string is accepted (and some that could not), or as nothing."""

_BEGINNINGS = "-+.0123456789[{(\"'nNtTfF \t\r\n"
"""How what could be read as something else begins, roughly."""


class BareGrammar:
    """Writes values as bare text. ``texts`` are the ways in which text may be written; ``behind`` stands behind what is
    none.
    """

    def __init__(self, values: JsonGrammar, texts: Sequence[TextGrammar], behind: str = "") -> None:
        self._values = values
        self._texts = texts
        self._behind = behind

    def value(self, node: Node, schema: Subschema | None) -> list[str]:
        """A value of ``node`` where the reader goes by ``schema``: the ways to write it, each of which is to stand
        directly before what ends the value.
        """
        return list(self._forms(node, schema))

    def _forms(self, node: Node, schema: Subschema | None) -> Iterator[str]:
        options = list(alternatives(node, self._values.definitions))
        if schema is None or schema.string_only:
            yield from (text for option in options for text in self.strings(option))
            return
        taken = {kind for kind in _readable(schema) if not _all_of(kind, options)}
        if not taken and any(map(_any_string, options)):
            yield from self.strings(String())
            return
        for option in options:
            yield from self._meant(option, schema, frozenset(taken | (schema.types & {"string"})))
            value = self._other(option, schema)
            if value is not None:
                yield f"{value} {self._behind}".strip()

    def strings(self, option: Node) -> Iterator[str]:
        """The strings of ``option``, which is no union, whatever they say; as in :meth:`value`."""
        for texts in self._texts:
            match option:
                case Constants(values):
                    found = self._values.either("text", [texts.constant(one) for one in values if isinstance(one, str)])
                    yield from () if found is None else (found,)
                case Anything():
                    yield from texts.string(String())
                case String():
                    yield from texts.string(option)

    def _meant(self, option: Node, schema: Subschema, types: frozenset[str]) -> Iterator[str]:
        """The strings of ``option`` that the reader takes for no value of the other ``types``."""
        if isinstance(option, Constants):
            found = tuple(one for one in option.values if isinstance(one, str) and _same(schema, one, one))
            yield from self.strings(Constants(found))
        elif types == {"string"}:
            yield from self.strings(option)
        elif isinstance(option, Anything | String):
            yield from (text for texts in self._texts for text in _without(texts, option, types))

    def _other(self, option: Node, schema: Subschema) -> str | None:
        """The values of ``option`` that are no strings, as JSON."""
        match option:
            case Constants(values):
                found = [one for one in values if not isinstance(one, str)]
                read = tuple(one for one in found if _same(schema, self._values.spelled(one), one))
                return self._values.value(Constants(read))
            case Anything():
                kinds: tuple[Node, ...] = (Constants((True, False, None)), Number(), Array(), ANY_OBJECT)
                return self._values.either("other", [self._other(kind, schema) for kind in kinds])
            case Number() | Array() | Object() if _read_as_json(option, schema.types):
                return self._values.value(option)
        return None


def other_than(node: Object, others: Others, schema: Subschema | None) -> tuple[str, ...]:
    """The names that members of ``others`` may not have: those of the object, and those of which the reader would take
    the values for something else.
    """
    names = tuple(one.name for one in node.properties)
    return names if schema is None or isinstance(others.value, Anything) else (*names, *schema.names)


def no_strings(node: Node) -> list[Node]:
    """What a node that is no union admits besides strings: nodes of one type each."""
    match node:
        case Constants(values):
            kinds = dict.fromkeys(type_name(one) for one in values if not isinstance(one, str))
            return [Constants(tuple(one for one in values if type_name(one) == kind)) for kind in kinds]
        case String():
            return []
        case Anything():
            return [Constants((True, False)), Constants((None,)), Number(), Array(), ANY_OBJECT]
    return [node]


def type_of(node: Node) -> str:
    """JSON's name for the type of a node that is of one."""
    match node:
        case Constants(values):
            return type_name(values[0])
        case Number():
            return "number"
    return "array" if isinstance(node, Array) else "object"


def type_name(value: Any) -> str:
    """JSON's name for the type of a decoded value; all numbers are ``number``."""
    match value:
        case bool():
            return "boolean"
        case None:
            return "null"
        case str():
            return "string"
        case int() | float():
            return "number"
    return "array" if isinstance(value, list) else "object"


def _same(schema: Subschema, text: str, value: Any) -> bool:
    """Whether a text is read as this value."""
    return json.dumps(json.loads(schema.value(text)), sort_keys=True) == json.dumps(value, sort_keys=True)


def _any_string(option: Node) -> bool:
    return isinstance(option, Anything) or option == String()


def _without(texts: TextGrammar, option: Anything | String, types: frozenset[str]) -> list[str]:
    node = option if isinstance(option, String) else String()
    try:
        return texts.language((node.language or anything.within(node.least, node.most)).intersect(_strings(types)))
    except TooLargeError:
        return [] if node.language else texts.string(node, not_first=_BEGINNINGS)


def _readable(schema: Subschema) -> frozenset[str]:
    """The types that a text may be taken for."""
    every = frozenset(("null", "boolean", "number", "array", "object"))
    return schema.types - {"string"} if "string" in schema.types else every


def _all_of(kind: str, options: list[Node]) -> bool:
    """Whether every value of a type is admitted."""
    return Anything() in options or any(_holds_all(kind, one) for one in options)


def _holds_all(kind: str, option: Node) -> bool:
    match kind:
        case "null":
            return isinstance(option, Constants) and None in option.values
        case "boolean":
            return isinstance(option, Constants) and sum(isinstance(one, bool) for one in option.values) == 2
        case "integer":
            return option in (Number(integer=True), Number())
        case "number":
            return option == Number()
    return option == (Array() if kind == "array" else ANY_OBJECT)


def _read_as_json(option: Number | Array | Object, types: frozenset[str]) -> bool:
    """Whether the JSON of these values is read as what it is."""
    if isinstance(option, Number):
        if "string" in types:
            return "number" in types or (option.integer and "integer" in types)
        return "boolean" not in types or not types.isdisjoint(("integer", "number"))  # else 1 is true
    return "string" not in types or ("array" if isinstance(option, Array) else "object") in types


@cache
def _strings(types: frozenset[str]) -> Language:
    """The texts that are strings where these types are accepted."""
    if "string" not in types:
        taken = [_UNTYPED, ""]
    else:
        taken = [words for kind, words in _WORDS.items() if kind in types]
        taken += [_NUMBER] if "number" in types else [_INTEGER] if "integer" in types else []
        taken += [_CONTAINER] if types & {"array", "object"} else []
    if not taken:
        return anything
    return pattern(f"^{_SPACE}(?:{'|'.join(taken)}){_SPACE}$").complement()
