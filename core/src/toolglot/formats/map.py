"""Arguments as a map with bare keys, and with a marker for a quote: ``{city:<|"|>Oslo<|"|>,days:3}``."""

from __future__ import annotations

import re

from toolglot.formats.markers import MAX_GAP

_CLOSERS = {"{": "}", "[": "]", "(": ")"}
_KEY = re.compile(r"[^:,{}\[\]\"'\r\n\ud800-\udfff]*+")
_GAP = re.compile(rf"[ \t\r\n]{{0,{MAX_GAP}}}+")
