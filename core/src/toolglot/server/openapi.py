"""``/openapi.json``: the routes and their types, as OpenAPI 3.1 has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from toolglot.server.auth import OPEN_PATHS
from toolglot.server.encoding import encode_json
from toolglot.server.operations import OPERATIONS, Operation

PATH = "/openapi.json"

_REFERENCE = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)\}")
_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
}


def openapi_route(models: Sequence[str], *, asks_for_key: bool) -> Route:
    """The route of the description."""

    @cache
    def written() -> bytes:
        return encode_json(document(OPERATIONS, models, asks_for_key=asks_for_key))

    async def show(_: HttpRequest) -> Response:
        return Response(written(), media_type="application/json")

    return Route(PATH, show)


def document(operations: Iterable[Operation], models: Sequence[str], *, asks_for_key: bool) -> dict[str, Any]:
    """The description of these operations. Its schemas are made from the types that the server reads and writes.

    ``models`` are the served names: a body that names another is a 404.
    """
    listed = tuple(operations)
    kinds = [kind for operation in listed for kind in _types(operation)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    _name_models(components, models)
    of = iter(schemas)
    paths: dict[str, dict[str, Any]] = {}
    for operation in listed:
        paths.setdefault(operation.path, {})[operation.method] = _described(operation, of, asks_for_key)
    return {
        "openapi": "3.1.0",
        "info": {"title": "toolglot", "version": version("toolglot")},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SCHEMES},
    }


def _name_models(components: dict[str, Any], models: Sequence[str]) -> None:
    """Say which models there are, wherever one is named."""
    for schema in components.values():
        named = schema.get("properties", {}).get("model")
        if named == {"type": "string"}:
            named["enum"] = list(models)


def _types(operation: Operation) -> list[Any]:
    """The operation's types, in the order in which :func:`_described` takes their schemas."""
    given = (operation.body, operation.reply, operation.event, operation.error)
    return [kind for one in given if one is not None for kind in _alternatives(one)]


def _alternatives(kinds: Any) -> tuple[Any, ...]:
    return kinds if isinstance(kinds, tuple) else (kinds,)


def _either(kinds: Any, schemas: Iterator[Any]) -> Any:
    """The schema of a type or of several."""
    found = [next(schemas) for _ in _alternatives(kinds)]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _described(operation: Operation, schemas: Iterator[Any], asks_for_key: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"summary": operation.summary}
    if names := _PARAMETER.findall(operation.path):
        found["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if operation.body is not None:
        found["requestBody"] = {"required": True, "content": _json(_either(operation.body, schemas))}
    found["responses"] = {
        "200": {"description": "What was asked for", "content": _answers(operation, schemas)},
        "default": {"description": "Why not", "content": _json(_either(operation.error, schemas))},
    }
    if asks_for_key and operation.path not in OPEN_PATHS:
        found["security"] = [{name: []} for name in _SCHEMES]
    return found


def _answers(operation: Operation, schemas: Iterator[Any]) -> dict[str, Any]:
    if operation.reply is None:
        return {"text/plain": {"schema": {"type": "string"}}}
    content = _json(_either(operation.reply, schemas))
    if operation.event is not None:
        content["text/event-stream"] = {"schema": _event(_either(operation.event, schemas), operation.last_data)}
    return content


def _event(data: Any, last_data: str | None) -> dict[str, Any]:
    """A server-sent event, in the way of OpenAPI 3.2: an object whose data is text that holds JSON."""
    text = {"type": "string", "contentMediaType": "application/json", "contentSchema": data}
    either = text if last_data is None else {"anyOf": [{"const": last_data}, text]}
    return {"type": "object", "properties": {"data": either, "event": {"type": "string"}}, "required": ["data"]}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
