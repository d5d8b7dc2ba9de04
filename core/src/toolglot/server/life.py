"""Where a server stands between its start and its end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Life:
    """What admission, health and shutdown have to know of each other."""

    started: bool = False
    """Whether the engine has started, and has not been stopped."""
    draining: bool = False
    """Whether the server was told to stop: what runs is finished, and nothing new is taken on."""
    active: int = 0
    """How many requests are being answered."""
