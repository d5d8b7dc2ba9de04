"""Trials: tags compiled in a process that can be ended (:mod:`toolglot.grammar.worker`)."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import weakref

import msgspec

from toolglot.errors import EngineError, QueueFullError
from toolglot.grammar.worker import READY, Answer, Job, packed

_AT_ONCE = 32
_PATIENCE = 5.0
"""Seconds that an answer may be late."""
_ROOM_SECONDS = 1.0
"""How long a tag waits until there is room for it."""
_START_SECONDS = 60.0
_COMMAND = "from toolglot.grammar.worker import main; main()"
_ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""What keeps libraries from starting threads: a process with threads cannot well be forked."""


class Trial:
    """A tag that is being compiled on trial. It must be left in the end."""

    def __init__(self, job: Job, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._job, self._reader, self._writer = job, reader, writer

    async def usable(self) -> Answer | None:
        """Whether, and in which way, the tag can be used; None when the limits ended it.

        Raises:
            EngineError: the process fails.
        """
        try:
            started = await self._answer(_PATIENCE)
        except TimeoutError:
            raise EngineError("the process that compiles grammars does not answer") from None
        if started is None:
            raise EngineError("the process that compiles grammars has failed")
        try:
            return await self._answer(self._job.seconds + _PATIENCE)
        except TimeoutError:  # it is there, but others leave it no time
            return Answer("busy")

    async def complete(self) -> bool:
        """Whether a tag that can be used lazily can be compiled with all its masks, within the limits."""
        try:
            answer = await self._answer(self._job.more_seconds + _PATIENCE)
        except TimeoutError:
            return False
        return answer is not None and answer.kind == "eager"

    def leave(self) -> None:
        """Have what is still being done for it ended."""
        self._writer.close()

    async def _answer(self, seconds: float) -> Answer | None:
        try:
            async with asyncio.timeout(seconds):
                line = await self._reader.readline()
        except ConnectionError:
            return None
        answer = msgspec.json.decode(line, type=Answer) if line else None
        if answer is not None and answer.kind == "failed":
            raise EngineError("the process that compiles grammars has failed; the server's log says why")
        return answer


class Trials:
    """Begins trials in a process, which is started when it is first needed, and again when it is gone.

    Args:
        info: XGrammar's information on the tokenizer, as JSON.
    """

    def __init__(self, info: str) -> None:
        self._info = packed(info.encode())
        self._process: _Process | None = None
        self._starting = asyncio.Lock()
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def start(self) -> _Process:
        """The process, ready.

        Raises:
            EngineError: it does not start.
        """
        async with self._starting:
            if self._process is None or not self._process.alive:
                self.stop()
                self._process = _Process()
                await self._process.prepare(self._info)
            return self._process

    def stop(self) -> None:
        """End the process, and all that is being compiled in it."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    async def begin(self, job: Job) -> tuple[Trial, Answer | None]:
        """Begin a trial; returns it with its first answer, as :meth:`Trial.usable` has it.

        Raises:
            QueueFullError: many others are being compiled.
            EngineError: the process fails.
        """
        process = await self.start()
        try:
            async with asyncio.timeout(_ROOM_SECONDS):
                await self._room.acquire()
        except TimeoutError:
            raise QueueFullError(retry_after=1) from None
        try:
            return await _begun(await process.fork(job))
        finally:
            self._room.release()


async def _begun(trial: Trial) -> tuple[Trial, Answer | None]:
    try:
        return trial, await trial.usable()
    except BaseException:
        trial.leave()
        raise


class _Process:
    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        with theirs:
            handle = theirs.fileno()
            self._process = subprocess.Popen(  # noqa: S603  # this Python
                [sys.executable, "-P", "-c", _COMMAND, str(handle)],
                pass_fds=[handle],
                stdin=subprocess.DEVNULL,
                env=os.environ | _ALONE,
                process_group=0,  # so that Ctrl-C is for the server, and all children can be ended together
                # Not a session: the kernel would give each its share, whatever the priorities in it.
            )
        self.end = weakref.finalize(self, _end, self._process, self._control)
        """End it, if that has not been done."""

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    async def prepare(self, info: bytes) -> None:
        """Tell it the tokenizer, and wait until it is ready. Raises EngineError."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_START_SECONDS):
                await loop.sock_sendall(self._control, info)
                ready = await loop.sock_recv(self._control, len(READY))
        except (OSError, TimeoutError) as error:
            raise EngineError(f"the process that compiles grammars does not start: {error}") from error
        if ready != READY:
            raise EngineError("the process that compiles grammars does not start; the server's log may say why")

    async def fork(self, job: Job) -> Trial:
        """Have it fork a child for a job. Raises EngineError."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                await self._hand_over(theirs)
            reader, writer = await asyncio.open_unix_connection(sock=ours)
        except OSError as error:
            ours.close()
            raise EngineError(f"the process that compiles grammars has failed: {error}") from error
        writer.write(packed(msgspec.msgpack.encode(job)))
        return Trial(job, reader, writer)

    async def _hand_over(self, end: socket.socket) -> None:
        """Send one end of a pair. Raises OSError, of which TimeoutError is one."""
        async with asyncio.timeout(_START_SECONDS):
            while True:
                try:
                    socket.send_fds(self._control, [b"+"], [end.fileno()])
                except BlockingIOError:  # nothing in asyncio sends these; it is soon read
                    await asyncio.sleep(0.001)
                else:
                    return


def _end(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
