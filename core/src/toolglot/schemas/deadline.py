"""How much of a processor's time may go into one client's schemas. Unlimited where nobody sets a limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from toolglot.errors import GrammarError

_limit = threading.local()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Within it, :func:`check` raises once this thread has worked so many seconds; time that others take counts not."""
    _limit.end, _limit.seconds = time.thread_time() + seconds, seconds
    try:
        yield
    finally:
        del _limit.end


def check() -> None:
    """Called wherever work may grow with a schema.

    Raises:
        GrammarError: the thread has worked longer than it may.
    """
    end = getattr(_limit, "end", None)
    if end is not None and time.thread_time() > end:
        raise GrammarError(f"the schema takes more than {_limit.seconds:g} s to be made a grammar")
