"""How much work reading takes (law L6). Function calls are counted, which is exact; what C code does again is timed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any


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


def time_ratio(short: Callable[[], object], long: Callable[[], object], *, enough: float, runs: int = 5) -> float:
    """How many times the processor time of ``short`` the action ``long`` takes; other processes do not count.

    Both are timed up to ``runs`` times, until the ratio is at most ``enough``; the least time of each counts.
    """
    least_short = least_long = float("inf")
    for _ in range(runs):
        least_short, least_long = min(least_short, _time(short)), min(least_long, _time(long))
        if least_long <= enough * least_short:
            break
    return least_long / least_short


def _time(action: Callable[[], object]) -> float:
    start = time.thread_time()
    action()
    return time.thread_time() - start
