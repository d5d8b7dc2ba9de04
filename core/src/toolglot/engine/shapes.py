"""What the attention layers of a model look like."""

from __future__ import annotations

from msgspec import Struct


class Scoring(Struct, frozen=True):
    """How a layer weighs the keys that a query sees."""

    scale: float
    window: int | None = None
    """How many tokens each sees, itself and those right before it; None: all before it."""
    softcap: float | None = None
    """Scores stay between minus this and this."""


class LayerShape(Struct, frozen=True):
    """One attention layer."""

    query_heads: int
    key_heads: int
    key_size: int
    """The size of a head of queries and keys."""
    value_size: int
    scoring: Scoring
