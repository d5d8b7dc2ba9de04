"""Time and memory for a token, in outputs of three lengths."""

from __future__ import annotations

import json
import tracemalloc
from functools import partial
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import outputs
from benchmarks.vllm_worker import VllmWorker
from toolglot import Message, Parser

TOKENS_READ = 60_000
"""In all rounds of a benchmark together."""


@pytest.mark.parametrize("tokens", outputs.LENGTHS)
def test_a_call(parser: Parser, tokens: int, benchmark: BenchmarkFixture, vllm: VllmWorker | None) -> None:
    benchmark.group = f"a call with a string of {tokens} tokens"
    deltas = outputs.call(parser, tokens)
    (call,) = _measure(parser, deltas, tokens, benchmark).tool_calls

    assert call.outcome == "ok"
    if vllm is not None:
        benchmark.extra_info["vllm"] = _with_vllm(vllm, parser, deltas, call.arguments)


@pytest.mark.parametrize("tokens", outputs.LENGTHS)
def test_prose(parser: Parser, tokens: int, benchmark: BenchmarkFixture) -> None:
    benchmark.group = f"prose of {tokens} tokens"
    deltas = outputs.prose(tokens)
    message = _measure(parser, deltas, tokens, benchmark)

    assert message.content == "".join(deltas)


def _measure(parser: Parser, deltas: list[str], length: int, benchmark: BenchmarkFixture) -> Message:
    """Time the reading of an output, and note the most memory that it takes."""
    read = partial(outputs.read, parser, deltas)
    message: Message = benchmark.pedantic(read, rounds=TOKENS_READ // length, warmup_rounds=1)
    benchmark.extra_info |= {"parser": parser.name, "length": length, "tokens": len(deltas), "peak": _peak(read)}
    return message


def _peak(action: partial[Message]) -> int:
    """The most bytes that Python holds at a time for ``action``, its result included."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _with_vllm(vllm: VllmWorker, parser: Parser, deltas: list[str], arguments: str) -> dict[str, Any] | None:
    """The time of vLLM's parser for the same tokens, and whether it found the same call."""
    found = vllm.read(parser.name, deltas, markers=outputs.markers(parser).tokens, tool=outputs.TOOL)
    if found is None:
        return None
    calls = found.pop("calls")
    same = len(calls) == 1 and _value(calls[0]["arguments"]) == json.loads(arguments)
    return {**found, "same": same}


def _value(json_text: str) -> Any:
    """The value of a JSON text; None where it is none."""
    try:
        return json.loads(json_text)
    except ValueError:
        return None
