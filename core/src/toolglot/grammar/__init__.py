"""Constrained decoding with XGrammar: a structural tag becomes masks over the tokens of one output."""

from toolglot.grammar.compiler import CompiledTag, Compiler
from toolglot.grammar.matcher import Matcher

__all__ = ["CompiledTag", "Compiler", "Matcher"]
