"""HTTP to one replica: answers as a stream of events, and every way in which they can fail."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import aiohttp
import msgspec
from msgspec import Struct

from toolglot.backends.dialect import Problem
from toolglot.backends.events import DONE, EventReader
from toolglot.backends.faults import BusyError, RefusedError, ReplicaError
from toolglot.errors import EngineError

T = TypeVar("T")

_BUSY = (429, 503)
_WRONG = (400, 413, 422)
_MOST_RETRY_AFTER = 3600
_MOST_ERROR_BYTES = 1 << 16
_SHOWN = 500
"""How many characters of an engine's error are passed on."""
_CLOSING = 0.5
"""How long a connection is read on after a reply, in seconds, to be used again."""


class Timeouts(Struct, frozen=True, kw_only=True):
    """How long an engine may take, in seconds."""

    connect: float = 5.0
    first_token: float = 600.0
    """Until the first token: it may have a queue, and a long prompt to read."""
    next_token: float = 60.0
    """From one token to the next."""
    check: float = 5.0
    """To answer a check of its health."""


class Link:
    """Speaks to the engine at ``url``."""

    def __init__(self, session: aiohttp.ClientSession, url: str, timeouts: Timeouts) -> None:
        self._session = session
        self._url = url
        self._timeouts = timeouts
        self._waits: set[asyncio.Timeout] = set()
        self._closed = False

    def close(self) -> None:
        """End all that waits, as if its time were up: closing a session of aiohttp does not tell those who wait."""
        self._closed = True
        for wait in self._waits:
            wait.reschedule(0)

    async def events(self, path: str, body: bytes) -> AsyncGenerator[bytes, None]:
        """The data of the events with which a POST is answered. Closing it hangs up.

        Raises:
            BusyError, ReplicaError: the engine does not answer as it should.
            RefusedError: it says that the request is wrong.
            EngineError: it wants a key, or has no such path or model.
        """
        reader, limit, clock = EventReader(), self._timeouts.first_token, asyncio.get_running_loop().time
        deadline = clock() + limit
        async with self._answer(path, body, limit) as response:
            while True:
                try:
                    received = await self._by(deadline, response.content.readany())  # comments do not extend it
                except TimeoutError:
                    raise ReplicaError(f"the engine sent nothing for {limit:g} s") from None
                except (aiohttp.ClientError, OSError) as error:
                    raise ReplicaError(f"the engine broke off its answer: {_said(error)}") from error
                if not received:
                    break
                for event in reader.feed(received):
                    if event == DONE:
                        await _read_on(response)
                        return
                    yield event
                    limit = self._timeouts.next_token
                    deadline = clock() + limit
            if reader.within:
                raise ReplicaError("the engine broke off its answer in the middle of a line")

    async def post(self, path: str, body: bytes) -> None:
        """Send what needs no answer. Raises ReplicaError, RefusedError as :meth:`events`."""
        async with self._answer(path, body, self._timeouts.check) as response:
            await _read_on(response)

    async def get(self, path: str) -> tuple[int, bytes]:
        """The status and the body of a GET. Raises ReplicaError: there is no answer."""
        try:
            async with (
                asyncio.timeout(self._timeouts.check),
                self._session.get(self._url + path, allow_redirects=False) as response,
            ):
                return response.status, await response.read()
        except TimeoutError:
            raise ReplicaError(f"the engine did not answer in {self._timeouts.check:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise ReplicaError(f"the engine cannot be reached: {_said(error)}") from error

    @asynccontextmanager
    async def _answer(self, path: str, body: bytes, limit: float) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to a POST whose status is good; it is hung up on at the end unless all of it was read."""
        try:
            deadline = asyncio.get_running_loop().time() + limit
            asked = self._session.post(self._url + path, data=body, allow_redirects=False)
            response = await self._by(deadline, asked)
        except TimeoutError:
            raise ReplicaError(f"the engine did not answer in {limit:g} s") from None
        except aiohttp.ServerDisconnectedError as error:
            raise ReplicaError("the engine hung up without an answer", stale=True) from error
        except (aiohttp.ClientError, OSError) as error:
            raise ReplicaError(f"the engine cannot be reached: {_said(error)}") from error
        try:
            if response.status != 200:
                await self._refuse(response)
            yield response
        finally:
            response.close()

    async def _by(self, deadline: float, work: Awaitable[T]) -> T:
        """The result of some work. Raises TimeoutError: it is not there at this time of the event loop."""
        wait = asyncio.timeout_at(0 if self._closed else deadline)
        self._waits.add(wait)
        try:
            async with wait:
                return await work
        finally:
            self._waits.discard(wait)

    async def _refuse(self, response: aiohttp.ClientResponse) -> None:
        """Raise the error for a status that is not good."""
        status, reason = response.status, f"{response.status} {response.reason}"
        with suppress(TimeoutError, aiohttp.ClientError, OSError):  # then the status says it all
            async with asyncio.timeout(self._timeouts.check):
                reason += _reason(await response.content.read(_MOST_ERROR_BYTES))
        if status in _BUSY:
            raise BusyError(f"the engine takes no more requests: {reason}", _retry_after(response.headers))
        if status in _WRONG:
            raise RefusedError(f"the engine refuses the request: {reason}")
        if 400 <= status < 500:
            raise EngineError(f"the engine does not serve this server: {reason}")
        raise ReplicaError(f"the engine failed: {reason}")


async def _read_on(response: aiohttp.ClientResponse) -> None:
    """Read what is left of an answer that is over, so that its connection can be used again."""
    with suppress(TimeoutError, aiohttp.ClientError, OSError):  # then it is not used again
        async with asyncio.timeout(_CLOSING):
            await response.read()


class _Body(Struct):
    error: Problem | str | None = None
    message: str | None = None
    detail: Any = None


def _reason(body: bytes) -> str:
    """What the body of an error says, if it says something."""
    try:
        found = msgspec.json.decode(body, type=_Body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    error = found.error.message if isinstance(found.error, Problem) else found.error
    said = error or found.message or found.detail
    return f": {str(said)[:_SHOWN]}" if said else ""


def _retry_after(headers: Mapping[str, str]) -> int:
    value = headers.get("Retry-After", "")
    return min(max(int(value), 1), _MOST_RETRY_AFTER) if value.isascii() and value.isdigit() else 1


def _said(error: Exception) -> str:
    """What happened, without the address, which is not for clients."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name is not known"
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number else "the connection was lost"
