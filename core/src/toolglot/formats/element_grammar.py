"""What a model may write as the elements of a call: every parameter in the order of the schema, canonically spaced.

A string is any text without the closer, so that the first closer ends it. Its pattern is enforced, and a length of up
to 1,000; a string that has a maximum length can then not hold the character with which the closer begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from toolglot.errors import GrammarError, RenderError
from toolglot.formats.bare_value import Subschema
from toolglot.formats.json_text import MAX_WHITESPACE, arguments_schema
from toolglot.formats.templates import fill, parts_of
from toolglot.structural_tag import AnyText, ConstString, JsonSchema, Optional, Or, Regex, Repeat, Sequence

if TYPE_CHECKING:
    from toolglot.formats.element_template import ElementTemplate, Slots
    from toolglot.formats.values import ValueRule
    from toolglot.requests import Tool
    from toolglot.structural_tag import Format

_KEY = Regex("[A-Za-z0-9_.-]{1,64}")
"""The name of a parameter that the tool does not declare."""
_MAX_LENGTH = 1000
"""Up to here a string's length is counted."""
_MAX_BRANCHES = 64
_COMBINED = ("anyOf", "oneOf")
_LIMITED = re.compile('"m(?:in|ax)Length"')
_ANYTHING = "anything"


class Branch(NamedTuple):
    """One of the ways in which a value may be: of one type, or of any, and what the schema says of it."""

    kind: str
    schema: Mapping[str, Any]

    @property
    def is_string(self) -> bool:
        """It holds strings."""
        return self.kind in ("string", _ANYTHING)

    @property
    def is_other(self) -> bool:
        """It holds values that are no strings."""
        return self.kind != "string"

    @property
    def free_text(self) -> bool:
        """It holds every string."""
        return self.is_string and self.text(()) == AnyText()

    @property
    def typed(self) -> list[Branch]:
        """What it holds besides strings, by type."""
        if self.kind == _ANYTHING:
            return [Branch(kind, {"type": kind}) for kind in ("array", "boolean", "null", "number", "object")]
        return [self] if self.is_other else []

    def text(self, excluded: tuple[str, ...]) -> Format:
        """The string as it stands between its markers; none of ``excluded`` is in it."""
        schema = self.schema
        if "enum" in schema:
            return either([_const(one) for one in schema["enum"] if not any(text in one for text in excluded)])
        if isinstance(schema.get("pattern"), str):
            return Regex(re.sub(r"^\^|(?<!\\)\$$", "", schema["pattern"]))
        least, most = schema.get("minLength", 0), schema.get("maxLength", _MAX_LENGTH + 1)
        if most <= _MAX_LENGTH:
            stops = _characters(text[0] for text in excluded)
            return Regex(f"[^{stops}]{{{least},{most}}}" if stops else rf"[\s\S]{{{least},{most}}}")
        free = AnyText(excluded)
        return Sequence((_first(excluded), free)) if least else free

    def json(self, excluded: tuple[str, ...]) -> Format:
        """The value as JSON. None of ``excluded`` is in its strings where their length is free: XGrammar can enforce
        one or the other.
        """
        limited = _LIMITED.search(msgspec.json.encode(self.schema).decode()) is not None
        return JsonSchema(self.schema, max_whitespace_cnt=MAX_WHITESPACE, excludes=() if limited else excluded)


class ElementGrammar:
    """The grammar of one tool's arguments."""

    def __init__(self, tool: Tool, template: ElementTemplate, rule: ValueRule) -> None:
        self._tool = tool
        self._root = arguments_schema(tool)
        self._template = template
        self._rule = rule
        self.excluded = (*rule.excluded(template), *(rule.quotes or ())[:1])
        """What no text of a value may hold."""

    def arguments(self) -> tuple[Format, ...]:
        """All arguments.

        Raises:
            GrammarError: the tool's schema cannot be written as elements.
        """
        schema: Mapping[str, Any] = self._root
        for _ in range(_MAX_BRANCHES):
            if not isinstance(schema.get("$ref"), str):
                break
            target = Subschema(schema, self._root).target(schema["$ref"])
            schema = target if isinstance(target, Mapping) else {}
        combined = [key for key in (*_COMBINED, "allOf", "patternProperties", "$ref") if key in schema]
        if combined:
            raise self._wrong(f"{combined[0]!r} at the top of its schema")
        return self.members(schema, depth=0)

    def members(self, schema: Mapping[str, Any], depth: int) -> tuple[Format, ...]:
        """The members of an object, each as an element."""
        found: list[Format] = []
        for key, value in schema.get("properties", {}).items():
            element = self.element(key, value, depth)
            found.append(element if key in schema.get("required", ()) else Optional(element))
        more = schema.get("additionalProperties", "properties" not in schema)
        if more is not False:
            found.append(Repeat(0, -1, self.element(None, more, depth)))
        return tuple(found)

    def element(self, key: str | None, schema: Any, depth: int) -> Format:
        """One element; without ``key``, of any name."""
        template = self._template
        before = _texts(template.gap + template.mark + template.lead)
        after = ConstString(template.trail + template.closed({"key": key or ""}) + template.tail)
        forms = self._rule.forms(list(self._branches(schema)), self, depth)
        return either(Sequence((*self._opener(key, slots), *before, value, after)) for slots, value in forms)

    def _opener(self, key: str | None, slots: Slots) -> Iterator[Format]:
        if key is not None:
            try:
                yield ConstString(self._template.markers({"key": key, **slots}, None)[0])
            except RenderError as error:
                raise self._wrong(str(error)) from None
            return
        if self._template.keyed:
            raise self._wrong("parameters that are not declared")
        for part in parts_of(self._template.openers[0]):
            if part.value != "key":
                yield from _texts(fill([part], slots))
            else:
                yield _KEY if part.kind == "word" else Sequence((ConstString('"'), _KEY, ConstString('"')))

    def _wrong(self, what: str) -> GrammarError:
        return GrammarError(
            f"calls of {self._tool.name!r} cannot be constrained in this format: {what}; change that, or use "
            "tool_choice auto and no strict tools"
        )

    def _branches(self, schema: Any) -> Iterator[Branch]:
        """Every way in which a value may be."""
        waiting = [schema]
        for _ in range(_MAX_BRANCHES):
            if not waiting:
                return
            one = waiting.pop(0)
            one = one if isinstance(one, Mapping) else {}
            parts = [part for key in _COMBINED for part in one.get(key) or ()]
            if "$ref" in one:
                waiting.insert(0, Subschema(one, self._root).target(one["$ref"]))
            elif parts:
                waiting[:0] = parts
            else:
                yield from self._typed(one)
        raise self._wrong("a parameter has too many forms, or refers to itself")

    def _typed(self, schema: Mapping[str, Any]) -> Iterator[Branch]:
        types = Subschema(schema, self._root).types
        members = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(members, list):
            for kind in dict.fromkeys(map(type_name, members)):
                yield Branch(kind, {"enum": [one for one in members if type_name(one) == kind]})
            return
        named: dict[str, Any] = {key: self._root[key] for key in ("$defs", "definitions") if key in self._root}
        for kind in sorted(types):
            yield Branch(kind, {**schema, "type": kind, **named})
        if not types:
            yield Branch(_ANYTHING, {})


def either(formats: Iterable[Format]) -> Format:
    """One of several."""
    found: list[Format] = []
    for one in formats:
        if one not in found:
            found.append(one)
    if not found:
        raise GrammarError("a schema admits nothing that can be written in this format")
    return found[0] if len(found) == 1 else Or(tuple(found))


def _texts(text: str) -> tuple[Format, ...]:
    return (ConstString(text),) if text else ()


def _const(text: str) -> Format:
    return ConstString(text) if text else Repeat(0, 0, ConstString(" "))


def _characters(found: Iterable[str]) -> str:
    """A character class of characters, without its brackets."""
    return "".join(re.escape(char) for char in dict.fromkeys(found))


def _first(excluded: tuple[str, ...]) -> Format:
    """The first character of a text that is not empty, or two of them, so that no excluded text begins in it."""
    stops = _characters(text[0] for text in excluded)
    seconds = _characters(text[1] for text in excluded)
    return Regex(f"[^{stops}]|[{stops}][^{stops}{seconds}]" if excluded else r"[\s\S]")


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
