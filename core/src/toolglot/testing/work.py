"""How much work reading takes (law L6): function calls are counted, since they do not depend on the machine."""

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


def processor_time(action: Callable[[], object], *, runs: int = 3) -> float:
    """The least processor time in seconds that ``action`` takes in a few runs; other processes do not count."""
    return min(_timed(action) for _ in range(runs))


def _timed(action: Callable[[], object]) -> float:
    start = time.thread_time()
    action()
    return time.thread_time() - start
