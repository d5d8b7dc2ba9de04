"""Request bodies: JSON to typed values, with errors that name the field."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec

from toolglot.containers import MAX_CONTAINERS, has_too_many
from toolglot.errors import RequestError
from toolglot.server.encoding import encode_json
from toolglot.server.lanes import SMALL

T = TypeVar("T")

MAX_DEPTH = 100
"""How deep a body may nest. Schemas and messages are walked by recursive code further on, some of it native."""

_AT = re.compile(r" - at (`key` in )?`\$\.?([^`]*)`$")
_REASONS = {"Input data was truncated": "it ends too soon, or has half a surrogate pair near its end"}
_MISSING = re.compile(r"missing required field `([^`]*)`")


async def decoded(body: bytes, read: Callable[[bytes], T]) -> T:
    """What ``read`` makes of a body, in a thread where it is large."""
    return await off_loop(len(body), partial(read, body))


async def off_loop(size: int, work: Callable[[], T]) -> T:
    """What ``work`` returns; in a thread where it has to do with many bytes, so that other clients do not wait."""
    return await asyncio.to_thread(work) if size > SMALL else work()


def decode_object(body: bytes) -> dict[str, Any]:
    """The JSON object in ``body``.

    Raises:
        RequestError: the body is no JSON, no object, nested too deeply, or has too many objects and lists.
    """
    if has_too_many([body]):
        raise RequestError(f"the body has more than {MAX_CONTAINERS} objects and lists")
    try:
        value = msgspec.json.decode(body)
    except RecursionError as error:
        raise _too_deep() from error
    except msgspec.DecodeError as error:
        reason = _AT.sub("", str(error))
        raise RequestError(f"the body is not valid JSON: {_REASONS.get(reason, reason)}") from error
    if not isinstance(value, dict):
        raise RequestError("the body must be a JSON object")
    if _is_deeper(value, MAX_DEPTH):
        raise _too_deep()
    return value


def convert(value: Any, kind: type[T]) -> T:
    """``value`` as a ``kind``.

    Raises:
        RequestError: a field is missing or has the wrong type; ``param`` is its path, such as ``tools[0].function``.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _invalid(str(error)) from error


def refuse_unserved(value: Mapping[str, Any], harmless: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse fields that would change the reply and are not served.

    ``harmless`` has each such field, with the values (besides null) that change nothing.

    Raises:
        RequestError: the body has one with another value.
    """
    for name in value.keys() & harmless.keys():
        if value[name] is not None and not any(_same(value[name], other) for other in harmless[name]):
            allowed = " or ".join(encode_json(other).decode() for other in harmless[name])
            only = f"; leave it out or set it to {allowed}" if allowed else "; leave it out"
            raise RequestError(f"`{name}` is not supported{only}", param=name)


def _invalid(message: str) -> RequestError:
    at = _AT.search(message)
    missing = _MISSING.search(message)
    path = [match[match.lastindex or 0] for match in (at, missing) if match]
    param = ".".join(path) or None
    reason = _AT.sub("", message)
    where = " for each key" if at and at[1] else ""
    at_param = f" at `{param}`" if param else ""
    return RequestError(f"{reason[0].lower()}{reason[1:]}{where}{at_param}", param=param)


def _too_deep() -> RequestError:
    return RequestError(f"the body is nested more than {MAX_DEPTH} levels deep")


def _is_deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [child for node in level for child in _children(node) if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _children(node: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node


def _same(value: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not 1, though Python says so."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)
