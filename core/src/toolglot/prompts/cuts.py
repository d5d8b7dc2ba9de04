"""Keeping client text text: what spells an added token of the tokenizer is cut, so that no encoder sees it whole.

A cut is a Unicode noncharacter that the request does not hold. It goes through the chat template inside the string, and
the rendered prompt is split at the cuts: the pieces are encoded one by one, and joined again they are the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from toolglot.errors import RequestError

Cut: TypeAlias = Callable[[str], str]
_Trie: TypeAlias = dict[str, "_Trie"]

_NONCHARACTERS = tuple(map(chr, range(0xFDD0, 0xFDF0)))
_NOWHERE = r"(?!)"


class Cutter:
    """Cuts the added tokens ``texts`` wherever a string spells them.

    ``normalize`` is what the tokenizer does to text before it looks for added tokens, None if it does nothing.
    Tokens of whitespace alone are left (they are ordinary text), and so are those of a single character (there is
    nothing to cut).
    """

    def __init__(self, texts: Iterable[str], normalize: Callable[[str], str] | None = None) -> None:
        spelled = [text for text in texts if len(text) > 1 and not text.isspace()]
        if normalize is not None:
            spelled += [normalized for text in spelled if len(normalized := normalize(text)) > 1]
        self._pattern = _first_characters(spelled)
        self._begun = frozenset(text[:end] for text in spelled for end in range(1, len(text)))
        self._longest = max(map(len, self._begun), default=0)
        self._normalize = normalize

    def cut(self, text: str, mark: str) -> str:
        """``text`` with ``mark`` after the first character of each added token in it, and at its end where one could
        go on in the text that a template puts behind it.

        Where only the normalised text spells one, that takes the place of ``text``: the model reads nothing else.
        """
        marked = self._marked(text, mark)
        if self._normalize is None:
            return marked
        normalized = self._normalize(marked)
        again = self._marked(normalized, mark)
        return marked if again == normalized else again

    def _marked(self, text: str, mark: str) -> str:
        marked = self._pattern.sub(rf"\g<0>{mark}", text)
        begins = any(marked[-size:] in self._begun for size in range(1, min(self._longest, len(marked)) + 1))
        return marked + mark if begins else marked


def unused_mark(*values: Any) -> str:
    """A noncharacter that occurs nowhere in ``values``, neither itself nor as a JSON escape.

    Raises:
        RequestError: they hold all 32 of them.
    """
    spelled = repr(values)  # writes a noncharacter as its escape
    for mark in _NONCHARACTERS:
        if _escape(mark) not in spelled:
            return mark
    raise RequestError(
        "the request holds every Unicode noncharacter U+FDD0 to U+FDEF; leave some out", param="messages"
    )


def split(text: str, mark: str) -> list[str]:
    """The pieces of ``text`` between marks; a template may have escaped a mark while it wrote JSON."""
    return [piece for piece in text.replace(_escape(mark), mark).split(mark) if piece]


def cut_strings(value: Any, cut: Cut) -> Any:
    """A copy of a JSON value in which each string, keys included, went through ``cut``."""
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, Mapping):
        return {cut_strings(key, cut): cut_strings(member, cut) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [cut_strings(element, cut) for element in value]
    return value


def _escape(mark: str) -> str:
    return f"\\u{ord(mark):04x}"


def _first_characters(texts: Iterable[str]) -> re.Pattern[str]:
    """A pattern for the first character of each of ``texts``, wherever the rest follows (so overlaps are found too)."""
    rests: dict[str, _Trie] = {}
    for text in texts:
        node = rests.setdefault(text[0], {})
        for character in text[1:]:
            node = node.setdefault(character, {})
        node[""] = {}
    spelled = [f"{re.escape(first)}(?={_alternatives(rest)})" for first, rest in rests.items()]
    return re.compile("|".join(spelled) or _NOWHERE)


def _alternatives(trie: _Trie) -> str:
    """A pattern for the words of a trie: thousands of added tokens cost no more at a position than a few."""
    if "" in trie:
        return ""  # where a word ends, longer ones need no look
    spelled = [re.escape(character) + _alternatives(rest) for character, rest in trie.items()]
    return spelled[0] if len(spelled) == 1 else f"(?:{'|'.join(spelled)})"
