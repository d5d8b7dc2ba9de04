"""JSON for clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

_ENCODER = msgspec.json.Encoder()


def encode_json(value: Any) -> bytes:
    """``value`` as JSON in UTF-8. Lone surrogates, which a model can write as JSON escapes, become U+FFFD."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_as_text(msgspec.to_builtins(value)))


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer with ``value`` as its body."""
    return Response(encode_json(value), status, headers, "application/json")


def _as_text(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {key: _as_text(member) for key, member in value.items()}
        case list() | tuple():
            return [_as_text(element) for element in value]
    return value
