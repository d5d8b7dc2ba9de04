"""``python -m clients.soak``: a model under mixed requests for half an hour, and what is left of it in the end.

The cache is small, so that requests are preempted and prompts forgotten. Clients have keys of their own, which share
no prompts.
"""

from __future__ import annotations

import asyncio
import json
import math
import statistics
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx

from clients.load import processor_seconds, resident
from clients.mixture import CHAT, Ask, Said, broken_content, draw, invalid_calls
from clients.serving import Served, started
from toolglot.checkpoints.progress import Report, progress

_KEYS = ("first", "second", "third")
BOUND = 120
"""Seconds of the server's processor time within which every request has to be over; others may need the machine."""
_PATIENCE = 1800.0
"""Seconds after which it is over all the same: a server that hangs takes no processor time."""
_START = 1800.0
"""Seconds that a server has to load its model: here, only the time after that counts."""
_FLAT = 1.10
"""How much of its memory the server may have in the end."""
_WARM = 0.2
"""The share of the time after which memory should not grow any more."""
FLAGS = (
    *("--max-num-seqs", "8", "--isolate-prefix-cache", "--log-level", "warning"),
    *(word for key in _KEYS for word in ("--api-key", key)),
)
DEMO = ("--max-model-len", "1024", "--kv-cache-memory-bytes", "60000000")
"""A cache of 1,280 tokens, where eight requests want twice as many."""
_FINAL = {"/v1/messages": "message_stop", "/v1/responses": "response."}


@dataclass
class Found:
    """What the clients saw, and what the server said of itself."""

    asked: Counter[str] = field(default_factory=Counter)
    """How many requests there were of each kind."""
    ended: Counter[str] = field(default_factory=Counter)
    """How they ended: ``reply``, ``left``, or with the status that refused them."""
    faults: list[str] = field(default_factory=list)
    """Answers that should not be."""
    stuck: list[str] = field(default_factory=list)
    slowest: float = 0.0
    """Seconds of the server's processor time that passed during one request, at most."""
    bounds: dict[asyncio.Timeout, float] = field(default_factory=dict)
    """The server's processor time at which each request that is under way was first seen."""
    valid: int = 0
    """How many replies under ``required`` or a name had valid calls only."""
    invalid: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    """The server's resident memory each second, in bytes."""
    unready: list[int] = field(default_factory=list)
    """Other statuses of ``/ready`` than 200."""
    errors: int = 0
    """How many answers had a status from 500 on."""
    left: dict[str, float] = field(default_factory=dict)
    """What the server still had in work or held when all clients had gone."""
    pressure: dict[str, float] = field(default_factory=dict)
    """How often it preempted, forgot, and found what was known."""
    tracebacks: int = 0

    @property
    def growth(self) -> float:
        """The most memory in the last third of the time after the start, as a share of the middle of its first."""
        warm = self.memory[int(_WARM * len(self.memory)) :] or [1]
        third = max(1, len(warm) // 3)
        return max(warm[-third:]) / statistics.median(warm[:third])


async def soak(served: Served, clients: int, seconds: float, seed: int, report: Report) -> Found:
    """Let the clients ask for a time; what they have asked for in the end is waited for."""
    found, begun = Found(), time.monotonic()
    watch = asyncio.create_task(_watch(served, found, begun, seconds, report))
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(_client(served, number, Random(f"{seed} {number}"), begun + seconds, found))
    watch.cancel()
    return found


async def _client(served: Served, number: int, chance: Random, end: float, found: Found) -> None:
    headers = {"Authorization": f"Bearer {_KEYS[number % len(_KEYS)]}"}
    async with httpx.AsyncClient(base_url=served.url, headers=headers, timeout=None) as http:  # noqa: S113  # BOUND
        while time.monotonic() < end:
            await ask_once(http, draw(chance), found)


async def ask_once(http: httpx.AsyncClient, ask: Ask, found: Found) -> None:
    """Ask once, and note how it ended."""
    found.asked[ask.kind] += 1
    try:
        async with asyncio.timeout(_PATIENCE) as bound:
            found.bounds[bound] = math.nan
            found.ended[await _until_left(http, ask, found)] += 1
    except TimeoutError:
        found.stuck.append(f"{ask.kind}: {ask.body!r:.200}")
    except (httpx.HTTPError, ValueError, LookupError) as error:
        found.faults.append(f"{ask.kind}: {error!r}")
    finally:
        found.bounds.pop(bound, None)


async def _until_left(http: httpx.AsyncClient, ask: Ask, found: Found) -> str:
    try:
        async with asyncio.timeout(ask.seconds) as patience:
            return await _answer(http, ask, found)
    except TimeoutError:
        if patience.expired():
            return "left"
        raise


async def _answer(http: httpx.AsyncClient, ask: Ask, found: Found) -> str:
    body = ask.body if isinstance(ask.body, bytes) else json.dumps(ask.body).encode()
    headers = {"Content-Type": "application/json"}
    async with http.stream("POST", ask.path, content=body, headers=headers) as response:
        if response.status_code not in ask.statuses:
            found.faults.append(f"{ask.kind}: {response.status_code} {(await response.aread()).decode():.200}")
        if response.status_code != 200:
            return f"{response.status_code}"
        if not ask.streamed:
            _judge(ask, json.loads(await response.aread()).get("choices", ()), found)
            return "reply"
        return await _stream(response, ask, found)


async def _stream(response: httpx.Response, ask: Ask, found: Found) -> str:
    """Read a stream to its end, or until the client leaves."""
    choices: list[dict[str, Any]] = []
    last = ""
    async with aclosing(response.aiter_lines()) as lines:  # type: ignore[type-var]  # it is a generator
        async for line in lines:
            if not line.startswith("data: "):
                continue
            last = line.removeprefix("data: ")
            if last.startswith("{"):
                choices += _choices(ask, json.loads(last), found)
            if ask.events is not None and len(choices) > ask.events:
                return "left"
    if _FINAL.get(ask.path, "[DONE]") not in last:
        found.faults.append(f"{ask.kind}: the stream ends with {last:.200}")
    _judge(ask, choices, found)
    return "reply"


def _choices(ask: Ask, event: dict[str, Any], found: Found) -> Sequence[dict[str, Any]]:
    if "error" in event and event["error"] is not None:
        found.faults.append(f"{ask.kind}: {event['error']}")
    choices: Sequence[dict[str, Any]] = event.get("choices", ())
    return choices


def _judge(ask: Ask, choices: Sequence[dict[str, Any]], found: Found) -> None:
    """Note what is wrong with a reply of Chat Completions that came to its end."""
    said: dict[int, Said] = {}
    for choice in choices:
        said.setdefault(choice["index"], Said()).take(choice)
    if ask.path != CHAT or not isinstance(ask.body, dict):
        return
    if len(said) != ask.body.get("n", 1) or not all(one.finish for one in said.values()):
        found.faults.append(f"{ask.kind}: {len(said)} choices, {[one.finish for one in said.values()]}")
    if ask.kind in ("required", "named"):
        wrong = [text for one in said.values() for text in invalid_calls(one)]
        found.invalid += wrong
        found.valid += not wrong and all(one.finish != "length" for one in said.values())
    if ask.kind == "format":
        found.faults += [f"format: {text}" for one in said.values() for text in broken_content(one)]


async def _watch(served: Served, found: Found, begun: float, seconds: float, report: Report) -> None:
    async with httpx.AsyncClient(base_url=served.url) as http:
        while True:
            found.memory.append(resident(served.process.pid))
            hurry(found, processor_seconds(served.process.pid))
            report(min(time.monotonic() - begun, seconds), seconds)
            try:
                status = (await http.get("/ready", timeout=30)).status_code
            except httpx.HTTPError:
                status = 0
            found.unready += [status] * (status != 200)
            await asyncio.sleep(1)


def hurry(found: Found, now: float) -> None:
    """End requests during which the server has worked for too long; ``now`` is its processor time."""
    for bound, since in list(found.bounds.items()):
        if math.isnan(since):
            found.bounds[bound] = now
        elif now - since > BOUND:
            del found.bounds[bound]
            bound.reschedule(asyncio.get_running_loop().time())
        else:
            found.slowest = max(found.slowest, now - since)


def failures(found: Found) -> list[str]:
    """The rules that do not hold, by name; empty where all do."""
    wrong = {
        "blocks": any(found.left.values()) or not found.left,
        "memory": found.growth > _FLAT,
        "stuck": bool(found.stuck) or not found.ended["reply"] or not found.ended["left"],
        "answers": bool(found.faults),
        "5xx": found.errors > 0,
        "ready": bool(found.unready),
        "log": found.tracebacks > 0,
        "calls": bool(found.invalid) or not found.valid,
        "pressure": not all(found.pressure.values()),
    }
    return [name for name, is_wrong in wrong.items() if is_wrong]


def report_of(found: Found) -> str:
    """What was seen, and how it ended, a line each."""
    memory = ", ".join(f"{found.memory[at] / 2**20:.0f}" for at in (0, len(found.memory) // 2, -1))
    figures = {
        "blocks": ", ".join(f"{value:g} {name}" for name, value in found.left.items()) + " when all is over",
        "memory": f"{memory} MiB (first, middle, last); at most {100 * (found.growth - 1):+.1f} % in the last third",
        "stuck": f"{len(found.stuck)} of {found.asked.total()} requests took over {BOUND} s of the server's work; "
        f"the others up to {found.slowest:.1f} s, and ended with: {_counted(found.ended)}",
        "answers": f"{len(found.faults)} that should not be; asked for: {_counted(found.asked)}",
        "5xx": f"{found.errors}",
        "ready": f"{len(found.unready)} of {len(found.memory)} times not",
        "log": f"{found.tracebacks} tracebacks",
        "calls": f"{found.valid} replies with valid calls under required or a name, {len(found.invalid)} invalid calls",
        "pressure": ", ".join(f"{value:g} {name}" for name, value in found.pressure.items()),
    }
    failed = failures(found)
    told = [f"{name:8} {'FAILED' if name in failed else 'ok':6} {line}" for name, line in figures.items()]
    return "\n".join([*told, *found.faults[:9], *found.stuck[:9], *found.invalid[:9]])


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _read(served: Served, found: Found) -> None:
    """Read the server's own figures, once nothing is left to do or too much time has passed."""
    served.wait_idle()
    gauges = {"blocks held": "cache_blocks_held", "requests running": "engine_running", "waiting": "engine_waiting"}
    end = time.monotonic() + 30
    while not found.left or (any(found.left.values()) and time.monotonic() < end):
        found.left = {name: served.metric(f"toolglot_{metric}") for name, metric in gauges.items()}
    counters = {
        "preemptions": "preemptions_total",
        "blocks forgotten": "cache_blocks_forgotten_total",
        "tokens of prompts found": "prefix_cache_tokens_total",
    }
    found.pressure = {name: served.metric(f"toolglot_{metric}") for name, metric in counters.items()}
    found.errors = served.count(500)
    found.tracebacks = served.log.count("Traceback")


def measure(flags: Sequence[str], clients: int, seconds: float, seed: int, log: Path) -> Found:
    """Serve, ask, and read what is left."""
    with started(log, *FLAGS, *flags, key=_KEYS[0], patience=_START) as served, progress("Soak", lines=False) as report:
        found = asyncio.run(soak(served, clients, seconds, seed, report))
        _read(served, found)
        return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code: 1 where a rule does not hold."""
    parser = ArgumentParser(prog="clients.soak", description="Mixed requests to the demo model, for a time.")
    parser.add_argument("--minutes", metavar="M", type=float, default=30, help="for how long (default: 30)")
    parser.add_argument("--clients", metavar="N", type=int, default=16, help="how many (default: 16)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of what they ask for (default: 0)")
    parser.add_argument("--log", metavar="FILE", type=Path, help="where the server's log goes (default: nowhere)")
    parser.add_argument("flags", metavar="FLAG", nargs="*", help="more flags of the server, after --")
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        log = asked.log or Path(folder) / "log"
        found = measure((*DEMO, *asked.flags), asked.clients, 60 * asked.minutes, asked.seed, log)
    print(report_of(found))
    return int(bool(failures(found)))


if __name__ == "__main__":
    sys.exit(main())
