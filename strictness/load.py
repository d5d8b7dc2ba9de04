"""What grammars cost a server: how soon a hundred tools are ready, what a mask takes, and what hostile schemas do to
others. It prints times and judges none: they are the machine's. What is judged is that everybody is answered.
"""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from msgspec import Struct

from strictness.hostile import HOSTILE, STREAMS, anew, answer, served, stream_until
from toolglot.bench import bfcl
from toolglot.checkpoints import load_tokenizer, resolve
from toolglot.events import Call
from toolglot.grammar import BoundedCompiler, CompiledTag, Compiler
from toolglot.parser import Parser, load_parser
from toolglot.requests import Request, Tool

TOOLS = 100
_LONGEST = 120
"""Up to how many tokens of a call are written."""
_WAKE = 0.005
"""Seconds between two looks at the event loop."""


class Answers(Struct):
    """What came of one hostile schema."""

    statuses: set[int]
    slowest: float = 0.0


def load(arguments: Namespace) -> int:
    """Measure and print. Exit code 1: a hostile schema got neither 200 nor 400."""
    tokenizer = load_tokenizer(resolve(None).path)
    asyncio.run(_ready(tokenizer))
    return asyncio.run(_hostile(tokenizer, arguments.seconds))


async def _ready(tokenizer: Any) -> None:
    """First use of many tools, and the masks of the calls of each."""
    parser = load_parser("hermes", tokenizer=tokenizer)
    tools = tuple(islice(_tools(), TOOLS))
    stops = [tokenizer.eos_token_id]
    compiler = BoundedCompiler(
        lambda cache: Compiler(tokenizer, vocab_size=len(tokenizer), stop_token_ids=stops, cache_bytes=cache)
    )
    await compiler.compile(_tag(parser, tools[:1]))  # the process runs, as it does in a server
    start = time.perf_counter()
    compiled = await compiler.compile(_tag(parser, tools))
    print(f"first use of {len(tools)} tools of BFCL: ready in {time.perf_counter() - start:.2f} s")
    for request in ("first", "second"):
        print(f"masks of the {request} request:", _spread(_fills(parser, compiled, tools, tokenizer), 1e6, "µs"))
    await compiler.stop()


def _tools() -> Iterator[Tool]:
    """Functions of BFCL, each once."""
    seen: set[str] = set()
    for _, function in bfcl.functions(bfcl.folder()):
        name = bfcl.tool_name(function["name"])
        if name not in seen:
            seen.add(name)
            yield Tool(name, function.get("description"), bfcl.json_schema(function["parameters"]))


def _tag(parser: Parser, tools: Sequence[Tool]) -> Any:
    return parser.constrain(Request(tools=tuple(tools), strict_level="parameter"))


def _fills(parser: Parser, compiled: CompiledTag, tools: Sequence[Tool], tokenizer: Any) -> list[float]:
    """Seconds of each mask, while a call of every tool is begun and goes on with any tokens that the masks allow."""
    found = []
    random = torch.Generator().manual_seed(0)
    for tool in tools:
        begun = parser.render([Call("", tool.name, "{}")]).partition("{}")[0]
        tokens = iter(tokenizer.encode(begun, add_special_tokens=False))
        matcher = compiled.matcher()
        for _ in range(_LONGEST):
            logits = torch.zeros(len(tokenizer))
            start = time.perf_counter()
            matcher.mask(logits)
            found.append(time.perf_counter() - start)
            begun_with = next(tokens, None)
            any_token = logits.softmax(0).multinomial(1, generator=random).item()
            if not matcher.accept(int(any_token) if begun_with is None else begun_with):
                break
    return found


async def _hostile(tokenizer: Any, seconds: float) -> int:
    answers = {name: Answers(set()) for name in HOSTILE}
    async with served(tokenizer) as client:
        for phase in ("before", "with hostile schemas", "after"):
            over = asyncio.Event()
            streams = [asyncio.create_task(stream_until(over, client, f"{phase[:1]}{at}")) for at in range(STREAMS)]
            lags = asyncio.create_task(_lags(seconds))
            if phase == "with hostile schemas":
                await _attack(client, answers, lags)
            found = await lags
            over.set()
            replies = sum(await asyncio.gather(*streams))
            print(f"event-loop lag {phase}: {_spread(found, 1e3, 'ms')}; {replies} replies in {STREAMS} streams")
    for name, one in answers.items():
        print(f"{name}: {' '.join(map(str, sorted(one.statuses)))}, slowest {one.slowest:.2f} s")
    return int(any(not one.statuses <= {200, 400} for one in answers.values()))


async def _attack(client: Any, answers: dict[str, Answers], while_running: asyncio.Task[list[float]]) -> None:
    number = 0
    while not while_running.done() or number == 0:
        for name, schema in HOSTILE.items():
            response, seconds = await answer(client, anew(schema, f"z{number}"))
            answers[name].statuses.add(response.status_code)
            answers[name].slowest = max(answers[name].slowest, seconds)
        number += 1


async def _lags(seconds: float) -> list[float]:
    """How much too late a sleep ends, again and again for so many seconds."""
    found = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        await asyncio.sleep(_WAKE)
        found.append(time.perf_counter() - start - _WAKE)
    return found


def _spread(seconds: list[float], scale: float, unit: str) -> str:
    ordered = sorted(seconds)
    return ", ".join(
        f"{name} {ordered[int(share * (len(ordered) - 1))] * scale:.3g} {unit}"
        for name, share in (("median", 0.5), ("p99", 0.99), ("most", 1.0))
    )
