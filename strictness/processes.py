"""Work on all cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from toolglot.checkpoints.progress import progress

T = TypeVar("T")
R = TypeVar("R")


def in_processes(title: str, work: Callable[[T], R], parts: Iterable[T]) -> list[R]:
    """What ``work`` makes of each part, in their order. What it raises is raised here."""
    context = multiprocessing.get_context("spawn")  # threads of the grammar's compiler do not survive a fork
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool, progress(title) as show:
        running = [pool.submit(work, part) for part in parts]
        for done, future in enumerate(as_completed(running), 1):
            future.result()
            show(done, len(running))
        return [future.result() for future in running]
