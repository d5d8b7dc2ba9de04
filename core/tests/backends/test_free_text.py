"""Tokens that a tag names stay out of its free text where an engine knows them by their text."""

from __future__ import annotations

from toolglot.backends.free_text import without_markers
from toolglot.structural_tag import AnyText, ConstString, Grammar, Or, Sequence, StructuralTag, Tag, Token

NAMES = {1: "<a>", 2: "<b>", 3: "<c>"}


def test_they_are_excluded_from_free_text_that_excluded_nothing():
    thought = Tag(Token(1), AnyText(), Token(2))
    tag = StructuralTag(Sequence((thought, Or((AnyText(), AnyText(("x",)), Grammar("root ::= Token(3)"))))))
    free = AnyText(("<a>", "<b>", "<c>"))
    kept = Or((free, AnyText(("x",)), Grammar("root ::= Token(3)")))
    assert without_markers(tag, NAMES) == StructuralTag(Sequence((Tag(Token(1), free, Token(2)), kept)))


def test_without_one_nothing_changes():
    for form in (AnyText(), Sequence((ConstString("a"), AnyText(("b",))))):
        assert without_markers(StructuralTag(form), NAMES) == StructuralTag(form)
