"""What goes wrong between the gateway and an engine.

::

    EngineError
    └── ReplicaError      this replica failed; before the first token, another one may do
        └── BusyError     it takes no more requests now
    RequestError
    └── RefusedError      the engine refuses the request itself: no other replica would take it
"""

from __future__ import annotations

from toolglot.errors import EngineError, RequestError


class ReplicaError(EngineError):
    """One replica cannot be reached, broke off or answers nonsense. ``stale``: it hung up on a connection that was kept
    from an earlier request, before it answered: nothing is known against it.
    """

    def __init__(self, message: str, *, stale: bool = False) -> None:
        self.stale = stale
        super().__init__(message)


class BusyError(ReplicaError):
    """It takes no more requests now; ``retry_after`` is in seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class RefusedError(RequestError):
    """The engine says that something in the request is wrong (HTTP 400, as SDKs try again what is a 500)."""
