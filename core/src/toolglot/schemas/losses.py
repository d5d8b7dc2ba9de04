"""What an operation on nodes could not say."""

from __future__ import annotations

from toolglot.schemas.effort import Effort


class Losses:
    """Why the last results are not exact: the first reason in each direction. ``effort`` is what they took."""

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self.smaller: str | None = None
        """Why values are missing that belong to the result."""
        self.larger: str | None = None
        """Why the result has values that do not belong to it."""

    def shrink(self, reason: str) -> None:
        """Note that values are missing."""
        self.smaller = self.smaller or reason

    def grow(self, reason: str) -> None:
        """Note that there are too many values."""
        self.larger = self.larger or reason

    def add(self, other: Losses) -> None:
        """Note what another result lost."""
        self.smaller = self.smaller or other.smaller
        self.larger = self.larger or other.larger
