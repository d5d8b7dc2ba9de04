"""What a grammar admits as Python arguments: keywords in the order of the schema, values as Python or JSON literals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from toolglot.errors import GrammarError
from toolglot.formats.json_text import MAX_WHITESPACE, arguments_schema
from toolglot.formats.python_literal import is_keyword
from toolglot.formats.python_text import Literals, python_text
from toolglot.formats.synthesis import quote
from toolglot.formats.value_grammar import Style, Values, series
from toolglot.structural_tag import ConstString, Format, Grammar, JsonSchema, Regex

if TYPE_CHECKING:
    from toolglot.requests import Tool

IDENTIFIER = Regex("[A-Za-z_][A-Za-z0-9_]{0,63}")

_ANY_LITERAL = Grammar(
    r"""
root ::= "True" | "False" | "None" | string | number | list | dict
list ::= "[" (root (", " root)*)? "]"
dict ::= "{" (string ": " root (", " string ": " root)*)? "}"
number ::= "-"? ("0" | [1-9] [0-9]{0,17}) ("." [0-9]{1,17})? ("e" [+-]? [0-9]{1,2})?
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1f] | "\\" ["\\bfnrt]
""".strip()
)


class PythonStyle(Style):
    """Values as Python or JSON literals. ``excludes`` occur in no string."""

    def __init__(self, literals: Literals, excludes: tuple[str, ...] = ()) -> None:
        self._literals = literals
        self._excludes = excludes

    def string(self, keywords: Mapping[str, Any]) -> Format:
        if self._excludes and not keywords.keys().isdisjoint(("minLength", "maxLength")):
            return self._measured(keywords)
        return JsonSchema({"type": "string", **keywords}, excludes=self._excludes)

    def _measured(self, keywords: Mapping[str, Any]) -> Format:
        """A string of some length; XGrammar does not enforce it together with exclusions."""
        first = re.escape("".join(text[0] for text in self._excludes))
        least, most = keywords.get("minLength", 0), keywords.get("maxLength", "")
        return Regex(rf'"[^"\\\x00-\x1f{first}]{{{least},{most}}}"')

    def literal(self, value: Any) -> str:
        written = python_text(msgspec.json.encode(value).decode(), self._literals, None)
        for text in self._excludes:
            written = written.replace(text, f"\\u{ord(text[0]):04x}{text[1:]}")
        return written

    def key(self, key: str) -> str:
        return f"{quote(key)}: "

    def any_key(self) -> Format:
        return series(self.string({}), ConstString(": "))

    def any_value(self) -> Format:
        if self._literals == "python":
            return _ANY_LITERAL
        return JsonSchema(True, max_whitespace_cnt=MAX_WHITESPACE, excludes=self._excludes)


class _KeywordStyle(PythonStyle):
    """A call's keyword arguments."""

    def key(self, key: str) -> str:
        if not is_keyword(key):
            raise GrammarError(f"{key!r} cannot be written as a keyword of a Python call", param="tools")
        return f"{key}="

    def any_key(self) -> Format:
        return series(IDENTIFIER, ConstString("="))


def keyword_arguments(tool: Tool, literals: Literals) -> Format:
    """What stands between the parentheses of a call of ``tool``.

    Raises:
        GrammarError: the tool's schema admits nothing that could be written.
    """
    schema = arguments_schema(tool)
    found = Values(PythonStyle(literals), schema).members(schema, _KeywordStyle(literals))
    if found is None:
        raise GrammarError(f"the schema of {tool.name!r} admits no arguments that could be written", param="tools")
    return found
