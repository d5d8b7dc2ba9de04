"""Threads for work on requests: what is small never waits for what is large."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from toolglot.errors import QueueFullError

T = TypeVar("T")

SMALL = 64 * 1024
"""Up to how many bytes a request is small."""
_SIZES = (SMALL, 1024 * 1024, sys.maxsize)
_MOST_WAITING = 256
"""How much work may wait in each lane."""


class Lanes:
    """A thread for each size of work; in each, first come is first served."""

    def __init__(self, name: str) -> None:
        self._lanes = [_Lane(most, f"{name}-{number}") for number, most in enumerate(_SIZES)]

    async def run(self, size: int, work: Callable[[], T]) -> T:
        """What ``work`` returns, which has to do with so many bytes.

        Raises:
            QueueFullError: much work of that size is waiting.
        """
        lane = next(lane for lane in self._lanes if size <= lane.most)
        if lane.waiting >= _MOST_WAITING:
            raise QueueFullError(retry_after=1)
        lane.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(lane.thread, work)
        finally:
            lane.waiting -= 1

    def close(self) -> None:
        """End the threads, when they have done what they are at."""
        for lane in self._lanes:
            lane.thread.shutdown(wait=False)


class _Lane:
    def __init__(self, most: int, name: str) -> None:
        self.most = most
        self.thread = ThreadPoolExecutor(1, name)
        self.waiting = 0
