"""The ids of calls where a model knows only nine letters or digits."""

from __future__ import annotations

import re
from hashlib import sha256

_LENGTH = 9
_VALID = re.compile(r"[a-zA-Z0-9]{9}")


class NineCharacterIds:
    """Maps the ids of one conversation to ids of nine letters or digits: the same id to the same, others to others.

    A valid id stays, and a longer one becomes its last nine characters. Where these are not valid, or are another id's
    already, it becomes nine hexadecimal digits that are made of it.
    """

    def __init__(self) -> None:
        self._made: dict[str, str] = {}
        self._taken: set[str] = set()

    def __call__(self, call_id: str) -> str:
        """The id for ``call_id``."""
        if call_id not in self._made:
            self._made[call_id] = made = self._new(call_id)
            self._taken.add(made)
        return self._made[call_id]

    def _new(self, call_id: str) -> str:
        end = call_id[-_LENGTH:]
        if _VALID.fullmatch(end) and end not in self._taken:
            return end
        return sha256(call_id.encode()).hexdigest()[:_LENGTH]
