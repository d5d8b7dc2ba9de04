"""JSON pointers (RFC 6901): how a place in a schema is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def escaped(step: str | int) -> str:
    """One step of a JSON pointer."""
    return step.replace("~", "~0").replace("/", "~1") if isinstance(step, str) else str(step)


def placed(path: str, message: str) -> str:
    """A message about what is at a JSON pointer, which stands before it; where it is about the whole, nothing does."""
    return f"{path}: {message}" if path else message


def steps(pointer: str) -> list[str]:
    """The names of members, and the numbers of items, on the way to a place."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def value_at(root: Any, pointer: str) -> Any:
    """What is at a JSON pointer; None where nothing is."""
    found = root
    for step in steps(pointer):
        if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            found = found.get(step) if isinstance(found, Mapping) else None
    return found
