"""HTTP connections whose clients may be slow, but not for ever."""

from __future__ import annotations

import asyncio
import logging

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolglot.server import record
from toolglot.server.errors import ApiError, error_bytes

_logger = logging.getLogger("toolglot.requests")


class PatientConnection(H11Protocol):
    """uvicorn's connection, cut when the client for ``seconds`` neither goes on with a request that it has not written
    to the end of its headers, nor takes anything of what is sent to it.

    How long a request's body may take is admission's matter. What is no HTTP never becomes a request, and is answered
    here, in the form of all other errors.
    """

    seconds: float

    _asking: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._asking = self._timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._stop_asking_timer_unless_idle()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self._timer()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._reading = _cancel(self._reading)

    def connection_lost(self, exc: Exception | None) -> None:
        self._asking, self._reading = _cancel(self._asking), _cancel(self._reading)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._refuse(msg)
        self.transport.close()

    def _refuse(self, message: str) -> None:
        request_id = record.new_id()
        body = error_bytes(ApiError(400, message, code="invalid_http"))
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
            ("x-request-id", request_id),
        ]
        answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for part in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(part) or b"")
        _logger.info("request", extra={"fields": {"request_id": request_id, "route": "none", "status": 400}})

    def _stop_asking_timer_unless_idle(self) -> None:
        """A request whose headers are under way has its time from their first byte on, not from each."""
        if self.conn.their_state is not h11.IDLE:
            self._asking = _cancel(self._asking)
        elif self._asking is None:
            self._asking = self._timer()

    def _timer(self) -> asyncio.TimerHandle:
        return self.loop.call_later(self.seconds, self.transport.abort)


def connection_class(seconds: float) -> type[PatientConnection]:
    """A connection class with that patience, as uvicorn makes its connections without arguments of ours."""
    return type("Connection", (PatientConnection,), {"seconds": seconds})


def _cancel(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancel a timer; what is left of it is None."""
    if timer is not None:
        timer.cancel()
    return None
