"""``python -m clients.load``: many streams at once, whose words are counted, and the server's memory and work.

Each stream asks again and again for a reply of numbered words and a call with more of them, over one of the three
APIs. Others leave in mid-stream.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from clients.serving import Served, serving
from clients.sse import APIS, Piece, pieces

WORDS = 60
"""How many words the content of a reply has, and how many its call."""
_LEAVERS = 20
"""How many more clients there are that leave in mid-stream."""
_FLAT = 1.10
"""How much of its memory the server may have in the end."""


@dataclass
class Found:
    """What the streams saw."""

    replies: int = 0
    pieces: int = 0
    left: int = 0
    """How many were left in mid-stream."""
    faults: list[str] = field(default_factory=list)
    added: list[float] = field(default_factory=list)
    """How many seconds later each piece of content came than one step of the engine after the one before."""
    memory: list[int] = field(default_factory=list)
    """The server's resident memory each second, in bytes."""
    busy: float = 0.0
    """The processor time that the server took, in seconds."""
    running: float = 0.0
    """How many replies the server still wrote when all clients had gone, and had had time to notice."""

    @property
    def growth(self) -> float:
        """The most memory in the last third of the time, as a share of what it was after the first third."""
        third = max(1, len(self.memory) // 3)
        return max(self.memory[-third:]) / statistics.median(self.memory[third : 2 * third] or self.memory)


def words(stream: int, part: str) -> str:
    """The words of a stream's reply; with its space each has eight bytes, and a delta has eight tokens."""
    return " ".join(f"{part}{stream:03}{number:03}" for number in range(WORDS))


def outputs(streams: int, delay: float) -> list[dict[str, Any]]:
    """A reply for each stream; and one for those who leave, which would last for many minutes."""
    lasting = {"match": _LEAVING, "output": "word " * 2000, "chunks": 1, "delay": delay}
    return [
        lasting,
        *(
            {"match": _prompt(stream), "output": words(stream, "w") + _call(stream), "chunks": 8, "delay": delay}
            for stream in range(streams)
        ),
    ]


_LEAVING = "[leaving]"


def _prompt(stream: int) -> str:
    return f"[{stream:03}]"


def _call(stream: int) -> str:
    arguments = {"text": words(stream, "a")}
    return f'<tool_call>\n{{"name": "note", "arguments": {json.dumps(arguments)}}}\n</tool_call>'


def faults(stream: int, came: Iterable[Piece]) -> list[str]:
    """What is wrong with a reply: words that are missing, come twice, or at another place, or are another stream's."""
    pieces = list(came)
    content = "".join(piece.content for piece in pieces)
    arguments = "".join(piece.arguments for piece in pieces)
    found = []
    if content != words(stream, "w"):
        found.append(f"stream {stream}: the content is {content!r}")
    if arguments != json.dumps({"text": words(stream, "a")}):
        found.append(f"stream {stream}: the arguments are {arguments!r}")
    return found


async def load(served: Served, streams: int, seconds: float, delay: float) -> Found:
    """Run the streams for a time; the last replies are read to their end."""
    found, end = Found(), time.perf_counter() + seconds
    busy = processor_seconds(served.process.pid)
    watch = asyncio.create_task(_watch(served.process.pid, found))
    async with asyncio.TaskGroup() as group:
        for stream in range(streams):
            group.create_task(_stream(served.port, stream, end, delay, found))
        for number in range(_LEAVERS):
            group.create_task(_leaver(served.port, number, end, found))
    watch.cancel()
    found.busy = processor_seconds(served.process.pid) - busy
    return found


async def _stream(port: int, stream: int, end: float, delay: float, found: Found) -> None:
    api = APIS[stream % len(APIS)]
    await asyncio.sleep(random.random() * WORDS * delay / 10)  # so that they do not go in step
    while time.perf_counter() < end:
        try:
            came = [piece async for piece in pieces(port, api, _prompt(stream))]
        except (RuntimeError, OSError, EOFError) as error:
            found.faults.append(f"stream {stream}: {error!r}")
            return
        content = [piece for piece in came if piece.content]
        found.added += [late.seconds - soon.seconds - delay for soon, late in pairwise(content)]
        found.faults += faults(stream, came)
        found.pieces += len(came)
        found.replies += 1


async def _leaver(port: int, number: int, end: float, found: Found) -> None:
    while time.perf_counter() < end:
        stay, came = random.randrange(1, WORDS), pieces(port, APIS[number % len(APIS)], _LEAVING)
        try:
            async for _ in came:
                stay -= 1
                if not stay:
                    break
        except (RuntimeError, OSError, EOFError) as error:
            found.faults.append(f"one who leaves: {error!r}")
            return
        await came.aclose()
        found.left += 1


async def _watch(pid: int, found: Found) -> None:
    while True:
        found.memory.append(resident(pid))
        await asyncio.sleep(1)


def resident(pid: int) -> int:
    """The memory that a process has, in bytes."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float:
    """The processor time that a process has taken, in seconds."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def failures(found: Found) -> list[str]:
    """What should not be, in a word each: ``words``, ``memory``, ``work``; empty where all is well."""
    wrong = {
        "words": bool(found.faults) or not found.replies,
        "memory": found.growth > _FLAT,
        "work": found.running > 0 or not found.left,
    }
    return [name for name, is_wrong in wrong.items() if is_wrong]


def report(found: Found) -> str:
    """What was seen, and how it ended, a line each."""
    failed = failures(found)
    p50, p99, most = (1000 * _at(found.added, share) for share in (0.5, 0.99, 1))
    memory = ", ".join(f"{found.memory[at] / 2**20:.1f}" for at in (0, len(found.memory) // 2, -1))
    growth = f"the last third has {100 * (found.growth - 1):+.1f} % at most against the middle one"
    lines = {
        "words": f"{found.replies} replies in {found.pieces} pieces, {len(found.faults)} with something lost or moved",
        "memory": f"{memory} MiB (first, middle, last); {growth}",
        "work": f"{found.left} clients left in mid-stream; {found.running:g} replies are still written",
        "delay": f"added to each delta: p50 {p50:.2f} ms, p99 {p99:.2f} ms, at most {most:.2f} ms",
        "time": f"the server's processor time: {found.busy:.1f} s",
    }
    verdicts = {name: "FAILED" if name in failed else "ok" for name in ("words", "memory", "work")}
    told = [f"{name:6} {verdicts.get(name, ''):6} {line}" for name, line in lines.items()]
    return "\n".join([*told, *found.faults[:5]])


def _at(values: Sequence[float], share: float) -> float:
    """The value that this share of the others does not exceed."""
    return sorted(values)[int(share * (len(values) - 1))] if values else float("nan")


def measure(streams: int, seconds: float, delay: float) -> Found:
    """Serve, and load."""
    flags = ("--max-num-seqs", str(streams + 2 * _LEAVERS), "--log-level", "warning")
    with serving(outputs(streams, delay), "hermes", *flags) as served:
        found = asyncio.run(load(served, streams, seconds, delay))
        found.running = served.wait_idle()
        return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code: 1 where something is lost, memory grows, or work is left."""
    parser = ArgumentParser(prog="clients.load", description="Many streams at once, for a time.")
    parser.add_argument("--streams", metavar="N", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--seconds", metavar="S", type=float, default=60, help="for how long (default: 60)")
    parser.add_argument("--delay", metavar="S", type=float, default=0.1, help="between two deltas (default: 0.1)")
    found = measure(**vars(parser.parse_args(argv)))
    print(report(found))
    return int(bool(failures(found)))


if __name__ == "__main__":
    sys.exit(main())
