"""How much work reading takes (law L6). Function calls are counted, which is exact; what C code does again is timed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")


def calls_made(action: Callable[[], object]) -> int:
    """How many Python and C functions ``action`` calls."""
    count = 0

    def profile(_frame: FrameType, kind: str, _argument: Any) -> None:
        nonlocal count
        count += kind in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def time_ratio(
    short: Callable[[], object], long: Callable[[], Result], *, enough: float, runs: int = 5
) -> tuple[float, Result]:
    """How many times the processor time of ``short`` the action ``long`` takes, and what ``long`` returned.

    Other processes do not count. Both are timed up to ``runs`` times, until the ratio is at most ``enough``; the least
    time of each counts.
    """
    least_short = least_long = float("inf")
    for _ in range(runs):
        taken_short, _ = _timed(short)
        taken_long, result = _timed(long)
        least_short, least_long = min(least_short, taken_short), min(least_long, taken_long)
        if least_long <= enough * least_short:
            break
    return least_long / least_short, result


def _timed(action: Callable[[], Result]) -> tuple[float, Result]:
    start = time.thread_time()
    result = action()
    return time.thread_time() - start, result
