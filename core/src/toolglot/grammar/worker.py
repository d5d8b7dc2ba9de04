"""The process that compiles tags on trial.

XGrammar can neither be interrupted nor told how much it may take. So this process, which has but one thread and all
that is needed loaded, forks a child for each tag. The kernel ends the child at its time limit, and with it goes the
memory. What the child made is not sent back, as it would be larger than it is to make it again.

On its socket it gets XGrammar's information on the tokenizer, and says that it is ready; then, for each tag, the
child's end of a socket of its own. The child gets a :class:`Job` there, and sends an :class:`Answer` a line.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec
import xgrammar
from msgspec import Struct

from toolglot.grammar.compiler import grammar_compiler, reason
from toolglot.grammar.probe import Probe

READY = b"\x01"
_LENGTH = struct.Struct("!Q")
_SMALL_SECONDS = 0.05
"""What a small tag takes without its masks."""
_QUICK_SECONDS = 0.15
"""How long the masks of a small tag are waited for."""
_MASK_SECONDS = 0.05
"""Seconds of the processor that a mask may take: all replies of a batch wait for it."""
_LAZY_MASK_SECONDS = 0.25
"""The same for a mask that is made when it is first wanted."""
_BUSY = 0.5
"""How much of its time a tag must have had on a processor to be found too slow."""
_GRACE_SECONDS = 0.5
_LONGEST_SECONDS = 30.0
_BACK = 5
"""How far a tag that takes longer stands back (``nice``)."""
_CACHE_BYTES = 64 << 20
"""For what rules of one tag have in common."""
_LONGEST_REASON = 1000


class Job(Struct, frozen=True):
    """A tag to compile."""

    text: str
    """XGrammar's JSON."""
    named: frozenset[int]
    """The tokens that it names."""
    seconds: float
    """How long it may take until it can be used in one way or the other."""
    more_seconds: float
    """How long it may take then until all masks are made."""
    memory: int
    """How many bytes it may take."""


class Answer(Struct, frozen=True):
    """What became of a tag.

    started: the limits hold from now on. lazy: it can be used, if its masks are made when they are wanted. eager: it
    can be used, and all its masks are made. busy: others left it too little time to tell. failed: this process has a
    defect, which it has logged.
    """

    kind: Literal["started", "lazy", "eager", "refused", "busy", "failed"]
    reason: str = ""


def packed(data: bytes) -> bytes:
    """The data, with how much it is before it."""
    return _LENGTH.pack(len(data)) + data


def main() -> None:
    """Fork a child for each socket that comes, until the other side is gone. The argument of the process is the file
    descriptor of its own socket.
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    info = xgrammar.TokenizerInfo.deserialize_json(_receive(control).decode())
    probe = Probe(info)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that children leave nothing behind
    control.sendall(READY)
    while True:
        _, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not handles:
            return
        with socket.socket(fileno=handles[0]) as ours:
            if os.fork() == 0:
                control.close()
                _child(ours, info, probe)


def _child(ours: socket.socket, info: Any, probe: Probe) -> None:
    try:
        _guarded(ours, lambda: _Trial(ours, info, probe, msgspec.msgpack.decode(_receive(ours), type=Job)).run())
    finally:
        os._exit(0)


def _guarded(ours: socket.socket, work: Callable[[], None]) -> None:
    """Do some work, and say what is raised in it."""
    try:
        work()
    except (ConnectionError, EOFError):
        pass  # nobody waits for it any more
    except MemoryError:
        _say(ours, Answer("refused", "it takes too much memory"))
    except RuntimeError as error:  # all else that XGrammar raises
        _say(ours, Answer("refused", reason(error)[:_LONGEST_REASON]))
    except Exception:  # noqa: BLE001  # a defect, whatever it is: nobody else would print it
        traceback.print_exc()
        _say(ours, Answer("failed"))


def _say(ours: socket.socket, answer: Answer) -> None:
    with suppress(ConnectionError):  # nobody waits for it any more
        ours.sendall(msgspec.json.encode(answer) + b"\n")


class _Trial:
    """One tag, compiled without its masks in one thread, and then with them in another. The main thread ends the
    process at its time limit, and when the other side leaves.
    """

    def __init__(self, ours: socket.socket, info: Any, probe: Probe, job: Job) -> None:
        self._socket, self._info, self._probe, self._job = ours, info, probe, job
        self._usable = threading.Event()
        self._lazy, self._eager = (
            threading.Thread(target=_guarded, args=(ours, work), daemon=True)
            for work in (self._compile_lazily, self._compile_eagerly)
        )

    def run(self) -> None:
        _limit_memory(self._job.memory)
        start = time.monotonic()
        self._say(Answer("started"))
        _start(self._lazy)
        if self._left(self._job.seconds):
            return
        if not self._usable.is_set():
            busy = time.process_time() < _BUSY * (time.monotonic() - start)
            self._say(Answer("busy") if busy else Answer("refused", f"it takes more than {self._job.seconds:g} s"))
        elif not self._left(self._job.more_seconds):
            self._say(Answer("refused"))

    def _left(self, seconds: float) -> bool:
        """Whether the other side leaves within that time.

        Should the work keep this thread from waking, the kernel ends the process, by a signal that it does not handle,
        for the processor's time that it took. Time that others took does not end it while anybody waits for it.
        """
        signal.setitimer(signal.ITIMER_PROF, seconds + _GRACE_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, seconds + _LONGEST_SECONDS)
        return bool(select.select([self._socket], [], [], seconds)[0])

    def _compile_lazily(self) -> None:
        start = time.monotonic()
        grammar = self._compiled(lazy=True)
        if time.monotonic() - start < _SMALL_SECONDS:
            _start(self._eager)
            self._eager.join(_QUICK_SECONDS)
        for thread in (self._lazy, self._eager):
            step_back(thread)
        if not self._usable.is_set() and self._probe.slowest(grammar, self._job.named) < _LAZY_MASK_SECONDS:
            self._usable.set()
            self._say(Answer("lazy"))
        if self._eager.ident is None:  # one after the other: a core is left to others
            _start(self._eager)

    def _compile_eagerly(self) -> None:
        slowest = self._probe.slowest(self._compiled(lazy=False), self._job.named)
        if slowest > _MASK_SECONDS:
            raise RuntimeError(f"what may come next takes {slowest:.2f} s to find out at one place in it")
        self._usable.set()
        self._say(Answer("eager"))

    def _compiled(self, *, lazy: bool) -> Any:
        return grammar_compiler(self._info, lazy=lazy, cache=_CACHE_BYTES).compile_structural_tag(self._job.text)

    def _say(self, answer: Answer) -> None:
        _say(self._socket, answer)


def _start(thread: threading.Thread) -> None:
    try:
        thread.start()
    except RuntimeError as error:  # there is no room for its stack
        raise MemoryError from error


def _limit_memory(room: int) -> None:
    if sys.platform == "linux":  # elsewhere time alone limits it
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + room, taken + room))


def step_back(thread: threading.Thread) -> None:
    """Let what others do come before a thread of this process; it may have ended already."""
    if sys.platform == "linux" and thread.native_id is not None:  # elsewhere threads have no priority of their own
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, thread.native_id, _BACK)


def _receive(ours: socket.socket) -> bytes:
    """What :func:`packed` made. Raises EOFError: the other side is gone."""
    with ours.makefile("rb") as stream:
        header = stream.read(_LENGTH.size)
        data = stream.read(*_LENGTH.unpack(header)) if len(header) == _LENGTH.size else None
    if data is None:
        raise EOFError
    return data
