"""Somebody who uses the server as it is meant, while others do not."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from clients.serving import MODEL, Served

PATIENCE = 15
"""How many seconds a short answer may take while the server is under attack, on a machine that has other work too."""


@contextmanager
def bystander(served: Served) -> Iterator[list[float]]:
    """Ask again and again while the block runs. Raises AssertionError: an answer was no answer, or came too late."""
    over, times = threading.Event(), [ask(served)]

    def go_on() -> None:
        while not over.is_set():
            times.append(ask(served))

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield times
    finally:
        over.set()
        thread.join()
    times.append(ask(served))
    assert max(times) < PATIENCE, f"of {len(times)} answers one took {max(times):.1f} s"


def ask(served: Served) -> float:
    """How many seconds a short answer takes; infinity where it is none."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
    begin = time.monotonic()
    try:
        answer = httpx.post(f"{served.url}/v1/chat/completions", json=body, timeout=4 * PATIENCE)
    except httpx.HTTPError:
        return float("inf")
    return time.monotonic() - begin if answer.status_code == 200 else float("inf")
