"""The served models in the form of Anthropic's API."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from toolglot.server.models import ModelCard, ModelList


class ModelInfo(Struct, frozen=True, kw_only=True, tag="model"):
    """A served model. What is null is not known here."""

    id: str
    display_name: str
    created_at: datetime
    max_input_tokens: int
    max_tokens: int
    """Prompt and reply together have no more."""
    lifecycle: Literal["active"] = "active"
    capabilities: None = None
    line: None = None
    deprecated_at: None = None
    retires_at: None = None


class ModelPage(Struct, frozen=True):
    """All models: there is one page."""

    data: tuple[ModelInfo, ...]
    first_id: str
    last_id: str
    has_more: Literal[False] = False


def model_info(card: ModelCard) -> ModelInfo:
    """The model of a card."""
    most = card.max_model_len
    created = datetime.fromtimestamp(card.created, UTC)
    return ModelInfo(id=card.id, display_name=card.id, created_at=created, max_input_tokens=most, max_tokens=most)


def model_page(models: ModelList) -> ModelPage:
    """The models of a list."""
    data = tuple(map(model_info, models.data))
    return ModelPage(data, data[0].id, data[-1].id)
