"""The laws of a format as ``toolglot check`` names them, and what the process that tests them says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

LAWS: Mapping[str, str] = {
    "L0": "L0 anchored",
    "L1": "L1 chunk invariance",
    "L2": "L2 stream = whole",
    "L3": "L3 nothing lost",
    "L4": "L4 round trip",
    "L5": "L5 grammar ⊆ reader",
    "L6": "L6 linear time",
    "L7": "L7 bytes pass through",
    "commit": "commit point",
    "truncation": "truncation",
}

Outcome = Literal["failed", "waived", "held", "not run"]


class Task(Struct, frozen=True):
    """What is to be tested."""

    folder: str
    """An empty folder for generated tests."""
    laws: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...] = ()
    """Names of parsers; those in one group are one parser."""
    files: tuple[str, ...] = ()
    """Plugin files. All their parsers are tested, unless there are ``groups``."""
    path: tuple[str, ...] = ()
    """Where to import from first."""
    modules: tuple[str, ...] = ()
    """Test modules that have suites of their own."""
    cases: Mapping[str, str] = {}
    """The folder of a parser's cases; the key "" is for all parsers."""


class Started(Struct, frozen=True, tag=True):
    """The tests are collected."""

    parsers: tuple[str, ...]
    total: int


class Result(Struct, frozen=True, tag=True):
    """What became of one test."""

    parser: str
    laws: tuple[str, ...]
    test: str
    outcome: Outcome
    message: str
    seconds: float


class Refused(Struct, frozen=True, tag=True):
    """Nothing can be tested."""

    reason: str


Report = Started | Result | Refused


def laws_of(test: str) -> tuple[str, ...]:
    """The laws that a test method of this name is about; none if it is about no law."""
    for prefix, law in (("test_truncated_", "truncation"), ("test_commit_", "commit")):
        if test.startswith(prefix):
            return (law,)
    found = re.match(r"test_((?:l\d_)+)", test)
    return tuple(found[1].upper().rstrip("_").split("_")) if found else ()
