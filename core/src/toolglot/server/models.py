"""The names under which the model is served."""

from __future__ import annotations

import time
from typing import Literal

from msgspec import Struct

from toolglot.engine.protocol import ModelInfo
from toolglot.server.config import ServerConfig
from toolglot.server.errors import ApiError


class ModelCard(Struct, frozen=True):
    """A served model."""

    id: str
    created: int
    root: str
    max_model_len: int
    object: Literal["model"] = "model"
    owned_by: str = "toolglot"


class ModelList(Struct, frozen=True):
    """The body of ``GET /v1/models``."""

    data: tuple[ModelCard, ...]
    object: Literal["list"] = "list"


class ServedModels:
    """One model, with each of its names."""

    def __init__(self, config: ServerConfig, info: ModelInfo) -> None:
        created = int(time.time())
        names = config.served_model_names or (info.name,)
        self._cards = {name: ModelCard(name, created, info.name, info.max_model_len) for name in names}

    def check(self, name: str) -> ModelCard:
        """The card of ``name``.

        Raises:
            ApiError: no such model is served (404).
        """
        card = self._cards.get(name)
        if card is None:
            message = f"the model {name!r} is not served here; there is {', '.join(map(repr, self._cards))}"
            raise ApiError(404, message, param="model", code="model_not_found")
        return card

    def list(self) -> ModelList:
        """All names."""
        return ModelList(tuple(self._cards.values()))
