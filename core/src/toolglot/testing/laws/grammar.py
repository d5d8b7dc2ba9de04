"""L5: what the grammar admits is read, exactly."""

from __future__ import annotations

from toolglot.testing.laws.suite import Suite


class GrammarIsRead(Suite):
    """Structural tag, sampled under the mask."""
