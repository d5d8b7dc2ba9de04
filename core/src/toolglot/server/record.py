"""What is known of the request that is being answered: for its log line, its id, and the engine."""

from __future__ import annotations

import re
import uuid
from contextvars import ContextVar
from dataclasses import dataclass

_ID = re.compile(rb"[!-~]{1,128}")


@dataclass(slots=True)
class RequestRecord:
    """One HTTP request."""

    id: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    first_token_seconds: float | None = None
    """From the first submission to the engine to the first token of any reply."""
    cache_salt: bytes = b""
    """What its prompts are kept apart by in the engine's prefix cache."""


_current: ContextVar[RequestRecord | None] = ContextVar("toolglot_request", default=None)


def new_id() -> str:
    """An id for a request."""
    return f"req_{uuid.uuid4().hex}"


def begin(given_id: bytes) -> RequestRecord:
    """Make the record of the request that this task answers; the client's id is kept if it is printable and short."""
    record = RequestRecord(given_id.decode() if _ID.fullmatch(given_id) else new_id())
    _current.set(record)
    return record


def current() -> RequestRecord | None:
    """The record of the request that this task works for; None outside of requests."""
    return _current.get()
