"""The soak of ``clients.soak``, in short and with a tiny model; and that it would see what it looks for."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from clients import soak
from clients.mixture import CHAT, Ask
from clients.soak import Found, ask_once, failures, measure, report_of
from toolglot.backends.byte_tokenizer import byte_tokenizer
from toolglot.plugins import load

TOKENS = 3000
"""Of the cache: a request with tools has about a thousand."""
TOKEN_BYTES = 2 * 2 * 2 * 8 * 4


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with random weights, whose tokens are bytes."""
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = byte_tokenizer(load("hermes")[0].form)
    tokenizer.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=4096, bos_token_id=None, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    torch.manual_seed(7)
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def test_a_short_soak_finds_nothing(model: Path, tmp_path: Path) -> None:
    flags = (str(model), "--tool-call-parser", "hermes", "--enable-auto-tool-choice", "--max-model-len", "2000")
    cache = ("--kv-cache-memory-bytes", f"{TOKENS * TOKEN_BYTES}")
    found = measure((*flags, *cache), clients=16, seconds=6, seed=1, log=tmp_path / "log")

    chance = {"memory", "pressure"}  # seconds are too few to say whether memory stays, and perhaps to preempt anything
    assert set(failures(found)) <= chance, report_of(found)
    assert found.asked.total() > 16


CALL = {"index": 0, "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
WRONG = {"index": 0, "function": {"name": "add", "arguments": '{"a": 1, "b": 20}'}}


def chunks(*deltas: dict[str, Any], finish: str | None = "tool_calls", end: str = "data: [DONE]\n\n") -> str:
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    return "".join(f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in choices) + end


async def seen(answer: str, kind: str = "required", status: int = 200, **fields: Any) -> Found:
    """What a client notes of this answer to a request for a stream."""
    found = Found()
    transport = httpx.MockTransport(lambda _: httpx.Response(status, text=answer))
    async with httpx.AsyncClient(transport=transport, base_url="http://soak") as http:
        await ask_once(http, Ask(kind, {"stream": True}, CHAT, **fields), found)
    return found


async def test_a_good_stream_counts_and_one_that_is_left_does_not() -> None:
    good = await seen(chunks({"tool_calls": [CALL]}))
    assert (good.ended, good.valid, good.invalid, good.faults) == (Counter(reply=1), 1, [], [])
    cut = await seen(chunks({"tool_calls": [WRONG]}, finish="length"))
    assert (cut.ended, cut.valid, cut.invalid) == (Counter(reply=1), 0, [])
    left = await seen(chunks({"content": "a"}, {"content": "b"}, finish=None, end=""), events=1)
    assert (left.ended, left.faults) == (Counter(left=1), [])
    refused = await seen("no", status=400, statuses=(400,))
    assert (refused.ended, refused.faults) == (Counter({"400": 1}), [])


@pytest.mark.parametrize(
    ("answer", "fields", "fault"),
    [
        (chunks({"content": "a"}, end=""), {"kind": "plain"}, "the stream ends with"),
        (chunks({"content": "a"}, finish=None), {"kind": "plain"}, "1 choices, [None]"),
        (chunks(end='data: {"error": {"message": "lost"}}\n\ndata: [DONE]\n\n'), {"kind": "plain"}, "lost"),
        (chunks({"content": "none"}, finish="stop"), {"kind": "format"}, "format: none"),
        ("oh", {"status": 500}, "500 oh"),
        ("{", {"status": 400}, "400 {"),
    ],
)
async def test_a_bad_answer_is_a_fault(answer: str, fields: dict[str, Any], fault: str) -> None:
    (said,) = (await seen(answer, **fields)).faults
    assert fault in said


async def test_an_invalid_call_and_one_that_is_missing_are_seen() -> None:
    assert len((await seen(chunks({"tool_calls": [WRONG]}))).invalid) == 1
    assert (await seen(chunks({"content": "no"}, finish="stop"))).invalid == ["no call at all"]


async def test_a_request_that_never_ends_is_stuck() -> None:
    async def never(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(60)
        raise AssertionError

    async def work() -> None:
        for seconds in range(2 * soak.BOUND):
            soak.hurry(found, seconds)
            await asyncio.sleep(0)

    found = Found()
    async with httpx.AsyncClient(transport=httpx.MockTransport(never), base_url="http://soak") as http:
        await asyncio.gather(ask_once(http, Ask("plain", {}), found), work())
        await ask_once(http, Ask("leaves early", {}, seconds=0.001), found)
    assert [text[:6] for text in found.stuck] == ["plain:"]
    assert (found.ended, found.bounds, found.slowest) == (Counter(left=1), {}, soak.BOUND)


def well(**fields: Any) -> Found:
    found = {
        "asked": Counter(plain=9),
        "ended": Counter(reply=8, left=1),
        "valid": 3,
        "memory": [50, 100, 100, 102, 101, 109],
        "left": {"blocks held": 0.0},
        "pressure": {"preemptions": 4.0},
    }
    return Found(**{**found, **fields})


@pytest.mark.parametrize(
    ("fields", "failed"),
    [
        ({}, []),
        ({"left": {"blocks held": 1.0}}, ["blocks"]),
        ({"left": {}}, ["blocks"]),
        ({"memory": [50, 100, 100, 102, 105, 112]}, ["memory"]),
        ({"stuck": ["one"]}, ["stuck"]),
        ({"ended": Counter(left=1)}, ["stuck"]),
        ({"faults": ["one"]}, ["answers"]),
        ({"errors": 1}, ["5xx"]),
        ({"unready": [503]}, ["ready"]),
        ({"tracebacks": 1}, ["log"]),
        ({"invalid": ["one"]}, ["calls"]),
        ({"valid": 0}, ["calls"]),
        ({"pressure": {"preemptions": 0.0}}, ["pressure"]),
    ],
)
def test_whatever_should_not_be_is_a_failure(fields: dict[str, Any], failed: list[str]) -> None:
    assert failures(well(**fields)) == failed
    assert report_of(well(**fields)).count("FAILED") == len(failed)
