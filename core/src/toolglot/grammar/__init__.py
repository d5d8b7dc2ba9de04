"""Constrained decoding with XGrammar: a structural tag becomes masks over the tokens of one output.

How the formats of :mod:`toolglot.structural_tag` behave, for whoever writes a tag:

- ``AnyText()`` is valid UTF-8 and no added token.
- ``AnyText(excludes=…)``, ``TriggeredTags``, ``TokenTriggeredTags`` and an ``AnyText`` that a tag's string end closes
  work on bytes: the model may write half a character there (it is read as U+FFFD). Tokens that the tag names by id are
  kept out of them, and so is text that spells their names; other added tokens are never allowed.
- ``AnyTokens``, and string values in the XML styles, may hold the tokens that the tag names elsewhere: exclude them.
- ``Tag`` takes strings or tokens as begin and end. A string is matched as text, and never by an added token.
- ``TriggeredTags(at_least_one=True)`` begins with a tag, but allows text after it; ``TagsWithSeparator`` allows none.
- ``Sequence((Optional(reasoning), TriggeredTags(…)))`` can also read the opener of a text-marked reasoning block as
  free text, and then a call within it: exclude the opener in the ``TriggeredTags``.
- ``JsonSchema`` has no whitespace around the value; ``{"type": "object"}`` is any object, and ``True`` any value.
- Free text that excludes strings is no job for ``Regex``: the mask takes milliseconds a token.
"""

from toolglot.grammar.bounded import BoundedCompiler, CompileLimits
from toolglot.grammar.compiler import CompiledTag, Compiler
from toolglot.grammar.matcher import Matcher

__all__ = ["BoundedCompiler", "CompileLimits", "CompiledTag", "Compiler", "Matcher"]
