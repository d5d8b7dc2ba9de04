"""Hypothesis strategies: what models write, and what nobody should."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from toolglot.events import Call, Finish
from toolglot.testing.markers import Markers

NAME = string.ascii_letters + string.digits + "_-."
SENTINELS = "".join(map(chr, range(0x4E00, 0x4E40)))
"""Characters that stand in no marker and no syntax, so that one can see where each of them went."""
_SPACE = ("", "", "", " ", "\n", "\n\n  ", "\t", "\r\n")
_ESCAPES = (r"\n", r"\t", r"\"", r"\\", r"\/", r"\u00e9", r"\u0000", r"\ud83d\ude00", r"\\\"", r"\u005c")
_NUMBERS = (
    "0",
    "-0",
    "1",
    "-12.50",
    "1e5",
    "2E-3",
    "1E400",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
)
_SCALARS = ("true", "false", "null", '""', "{}", "[]", "{ }", "[\n]")
_PLAIN = "abcdefgABCDEFG 0123456789.,;:!?-_()'/*#äßéñЖ東京\u00a0\u2028\u200d🚀"
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|\w+|\s+|.', re.DOTALL)
_SYNTAX = '<>{}[]|"\\`=&$'


def names() -> SearchStrategy[str]:
    """Tool names: letters, digits, ``_``, ``-`` and ``.``."""
    return st.text(NAME, min_size=1, max_size=20)


def json_strings(markers: Markers) -> SearchStrategy[str]:
    """JSON strings as text, with escapes, markers and pieces of JSON in them."""
    plain = st.text(_PLAIN + "<>{}[]|`=&$", max_size=8)
    pieces = st.lists(st.one_of(plain, st.sampled_from(_ESCAPES), _sampled(markers.texts)), max_size=5)
    return pieces.map(lambda found: '"' + "".join(found) + '"')


def json_objects(markers: Markers) -> SearchStrategy[str]:
    """JSON objects as text: nested, oddly spaced, with duplicate keys, escapes, big numbers."""
    strings = json_strings(markers)
    space = st.sampled_from(_SPACE)
    scalars = st.one_of(strings, st.sampled_from(_NUMBERS), st.sampled_from(_SCALARS), st.integers().map(str))

    def nested(inner: SearchStrategy[str]) -> SearchStrategy[str]:
        return _objects(strings, inner, space) | _listed(inner, space, "[]")

    return _objects(strings, st.recursive(scalars, nested, max_leaves=6), space)


def _objects(keys: SearchStrategy[str], values: SearchStrategy[str], space: SearchStrategy[str]) -> SearchStrategy[str]:
    return _listed(st.builds("{}{}:{}{}".format, keys, space, space, values), space, "{}")


def _listed(items: SearchStrategy[str], space: SearchStrategy[str], brackets: str) -> SearchStrategy[str]:
    def join(found: list[str], before: str, after: str) -> str:
        return brackets[0] + before + f"{after},{before}".join(found) + after + brackets[1]

    return st.builds(join, st.lists(items, max_size=3), space, space)


def calls(markers: Markers) -> SearchStrategy[Call]:
    """Calls of any tools with any arguments."""
    return st.builds(Call, st.just(""), names(), json_objects(markers))


def words(markers: Markers) -> SearchStrategy[str]:
    """Prose with everything in it that is special somewhere, and halves of markers, but no whole marker."""
    pieces = st.one_of(
        st.text(_PLAIN, max_size=12), st.sampled_from(_SPACE), st.text(_SYNTAX, max_size=3), halves(markers)
    )
    text = st.lists(pieces, max_size=5).map("".join)
    return text.filter(lambda found: not markers.found(found))


def halves(markers: Markers) -> SearchStrategy[str]:
    """Beginnings and ends of markers."""
    found = {half for marker in markers.texts for at in range(1, len(marker)) for half in (marker[:at], marker[at:])}
    return _sampled(sorted(found))


def mangled(texts: SearchStrategy[str], markers: Markers) -> SearchStrategy[str]:
    """Outputs put together from any pieces, and then edited: characters are left out, or put in somewhere."""
    noise = st.one_of(
        st.sampled_from(SENTINELS),
        st.sampled_from(_SPACE),
        st.sampled_from(_SYNTAX),
        halves(markers),
        _sampled(markers.texts),
    )
    sliced = st.builds(_sliced, texts, st.integers(0, 60), st.integers(1, 12))
    joined = st.lists(st.one_of(texts, sliced, sliced, noise), min_size=1, max_size=6).map("".join)
    edits = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 6), noise | st.just("")), max_size=4)
    return st.builds(_edited, joined, edits)


def _sliced(text: str, start: int, length: int) -> str:
    """Some words, strings, spaces and signs of ``text`` in a row."""
    tokens = _TOKENS.findall(text)
    start %= len(tokens) + 1
    return "".join(tokens[start : start + length])


def _edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    for place, removed, added in edits:
        at = place % (len(text) + 1)
        text = text[:at] + added + text[at + removed :]
    return text


def finishes() -> SearchStrategy[Finish]:
    """Why an output ended."""
    return st.sampled_from(("stop", "length"))


def _sampled(found: Sequence[str]) -> SearchStrategy[str]:
    return st.sampled_from(tuple(found)) if found else st.just("")
