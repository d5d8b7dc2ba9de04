"""Reading outputs that were generated elsewhere: for those who debug a model, or train one."""

from __future__ import annotations

from toolglot.server.offline.api import OfflineParse

__all__ = ["OfflineParse"]
