r"""The classes of characters that patterns name, as narrow or as wide as any validator reads them.

Validators differ: in Python's ``re`` ``\d`` has the digits of all scripts, in ECMA-262 ten; where Unicode has grown,
the later versions have more letters. What lies between the narrow and the wide set depends on the validator.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from itertools import chain

from toolglot.schemas.charset import Charset, union

DIGITS = Charset.of("0123456789")
WORD = Charset.spanning([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
SPACE = Charset.of("\t\n\v\f\r ")
_ANY_SPACE = Charset.spanning(
    [(9, 13), (0x1C, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x180E, 0x180E), (0x2000, 0x200B),
     (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x2060), (0x3000, 0x3000), (0xFEFF, 0xFEFF)]
)  # fmt: skip
_LINES = Charset.of("\n\r\u2028\u2029")
_JOINERS = Charset.of("\u200c\u200d")
_ALPHABETIC_SYMBOLS = Charset(((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)))
_SCANNED = (range(0x40000), range(0xE0000, 0xE1000), range(0xF0000, 0x110000, 0x8000))
"""The planes in which there are characters; those of private use have one category."""
_LONG = {
    "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc",
    "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
    "Punctuation": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps",
    "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf", "Other_Punctuation": "Po",
    "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So",
    "Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp", "Control": "Cc",
    "Format": "Cf",
}  # fmt: skip
"""Those that hold characters which are none in every version, such as Cn and C, are not among them."""


@cache
def shorthand(letter: str, *, wide: bool) -> Charset:
    r"""The set of ``\d``, ``\\D``, ``\\w``, ``\\W``, ``\\s`` or ``\\S``."""
    if letter.isupper():
        return ~shorthand(letter.lower(), wide=not wide)
    narrow = {"d": DIGITS, "w": WORD, "s": SPACE}[letter]
    return narrow if not wide else _widest(letter)


@cache
def dot(*, wide: bool) -> Charset:
    """The set of ``.``"""
    return ~Charset.of("\n") if wide else ~_LINES


@lru_cache(128)
def category(name: str, *, wide: bool) -> Charset | None:
    """The characters of a general category, by its short or long name; None where it is none."""
    short = _LONG.get(name, name)
    if short not in _LONG.values():
        return None
    wanted = ("Lu", "Ll", "Lt") if short == "LC" else (short,)
    found = union(among for kind, among in _categories().items() if kind.startswith(wanted))
    return found | _categories()["Cn"] if wide else found


@cache
def _widest(letter: str) -> Charset:
    if letter == "s":
        return _ANY_SPACE
    kinds = ("Nd", "Cn") if letter == "d" else ("L", "M", "N", "Pc", "Cn")
    found = union(among for kind, among in _categories().items() if kind.startswith(kinds))
    return found | DIGITS if letter == "d" else found | _JOINERS | _ALPHABETIC_SYMBOLS


@cache
def _categories() -> dict[str, Charset]:
    """The characters of every general category."""
    found: dict[str, list[tuple[int, int]]] = {"Cn": []}
    first, kind = 0, unicodedata.category("\0")
    for point in (*chain(*_SCANNED), 0x110000):
        known = unicodedata.category(chr(point)) if point < 0x110000 else ""
        if known != kind or point in (0xE0000, 0xF0000):
            found.setdefault(kind, []).append((first, point - 1))
            first, kind = point, known
    return {name: Charset.spanning(ranges) for name, ranges in found.items()}
