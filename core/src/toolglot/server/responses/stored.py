"""What clients may do with a response that is stored."""

from __future__ import annotations

from msgspec import Raw
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from toolglot.server.encoding import encode_json
from toolglot.server.errors import ApiError
from toolglot.server.responses.protocol import Deleted, ItemList
from toolglot.server.responses.store import ResponseStore, StoredItem, StoredResponse

_MOST_ITEMS = 100
_ITEMS = 20


class StoredResponses:
    """``/v1/responses/{id}`` and what is below it."""

    def __init__(self, store: ResponseStore) -> None:
        self._store = store

    async def one(self, request: HttpRequest) -> HttpResponse:
        """``GET``: the response. ``DELETE``: forget it."""
        response = self._found(request)
        if request.method == "DELETE":
            self._store.remove(response.id)
            return _json(encode_json(Deleted(response.id)))
        if request.query_params.get("stream", "false") != "false":
            raise ApiError(400, "a response that has ended cannot be streamed; leave `stream` out", param="stream")
        return _json(response.body)

    async def cancel(self, request: HttpRequest) -> HttpResponse:
        """``POST …/cancel``: there are no responses in the background, which alone could be cancelled."""
        self._found(request)
        message = "this response has ended; close the connection of one that is streamed to cancel it"
        raise ApiError(400, message, code="not_cancellable")

    async def input_items(self, request: HttpRequest) -> HttpResponse:
        """``GET …/input_items``: a page of what the response was made of, earlier responses included."""
        items = self._found(request).input
        query = request.query_params
        if _choice(query.get("order"), ("desc", "asc"), "order") == "desc":
            items = items[::-1]
        start = _after(items, query.get("after"))
        page = items[start : (end := start + _limit(query.get("limit")))]
        first, last = (page[0].id, page[-1].id) if page else ("", "")
        return _json(encode_json(ItemList(tuple(Raw(item.body) for item in page), first, last, end < len(items))))

    def _found(self, request: HttpRequest) -> StoredResponse:
        response_id: str = request.path_params["id"]
        response = self._store.get(response_id)
        if response is None:
            message = f"there is no response {response_id[:80]!r} here, or no longer"
            raise ApiError(404, message, code="response_not_found")
        return response


def _json(body: bytes) -> HttpResponse:
    return HttpResponse(body, media_type="application/json")


def _choice(value: str | None, choices: tuple[str, ...], param: str) -> str:
    """One of the choices; the first by default."""
    if value is None:
        return choices[0]
    if value not in choices:
        raise ApiError(400, f"`{param}` is {value[:80]!r}; use one of {', '.join(choices)}", param=param)
    return value


def _limit(value: str | None) -> int:
    if value is None:
        return _ITEMS
    if not (value.isascii() and value.isdecimal() and 1 <= len(value) <= 3 and 1 <= int(value) <= _MOST_ITEMS):
        raise ApiError(400, f"`limit` is {value[:80]!r}; use 1 to {_MOST_ITEMS}", param="limit")
    return int(value)


def _after(items: tuple[StoredItem, ...], item_id: str | None) -> int:
    """Where the page begins."""
    if item_id is None:
        return 0
    for number, item in enumerate(items):
        if item.id == item_id:
            return number + 1
    raise ApiError(400, f"there is no input item {item_id[:80]!r}", param="after")
