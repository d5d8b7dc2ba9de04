"""Somebody who uses the server as it is meant, while others do not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx

from clients.serving import MODEL, Served

HELD_UP = 60
"""How many seconds a short answer may take while the server is under attack: it takes three, on a machine that has
three times the work that it could do.
"""


@contextmanager
def bystander(served: Served) -> Iterator[None]:
    """Ask before the block, again and again while it runs, and after it.

    Raises httpx.HTTPError: an answer was an error, or there was none in :data:`HELD_UP` seconds.
    """
    over = threading.Event()
    ask(served)
    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(_go_on, served, over)
        try:
            yield
        finally:
            over.set()
    asking.result()
    ask(served)


def _go_on(served: Served, over: threading.Event) -> None:
    while not over.is_set():
        ask(served)


def ask(served: Served) -> None:
    """Have a short answer."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
    httpx.post(f"{served.url}/v1/chat/completions", json=body, timeout=HELD_UP).raise_for_status()
