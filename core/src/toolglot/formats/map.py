"""Arguments as a map with bare keys, and with a marker for a quote: ``{city:<|"|>Oslo<|"|>,days:3}``."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random as Rng
from typing import TYPE_CHECKING, Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from toolglot.formats import python_literal
from toolglot.formats.bare_value import Subschema
from toolglot.formats.cursor import Cursor, Reading
from toolglot.formats.markers import MAX_GAP, NO, PARTIAL, Scan, reach
from toolglot.formats.python_literal import QUOTES, PythonReader, PythonString
from toolglot.formats.structure import Level, Put, Structure, guarded
from toolglot.formats.synthesis import Sink, Synthesis, quote

if TYPE_CHECKING:
    from toolglot.events import Call
    from toolglot.formats.body import Pieces
    from toolglot.formats.machine import Machine
    from toolglot.requests import Tool

_CLOSERS = {"{": "}", "[": "]", "(": ")"}
_KEY = re.compile(r"[^:,{}\[\]\"'\r\n\ud800-\udfff]*+")
_GAP = re.compile(rf"[ \t\r\n]{{0,{MAX_GAP}}}+")
