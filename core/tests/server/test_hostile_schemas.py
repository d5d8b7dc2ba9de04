"""Schemas that are made to cost much, at a server that is serving others."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from strictness.hostile import HOSTILE, STREAMS, answer, served, stream_until


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


async def patient_answer(client, schema):
    """The answer, and how long it took. Where others leave a schema too little time, that is said: it comes again."""
    for _ in range(20):
        response, seconds = await answer(client, schema)
        if response.status_code != 429:
            break
        assert response.headers["retry-after"] == "1"
    return response, seconds


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
async def test_hostile_schemas_are_answered_and_cost_nobody_else(tokenizer):
    over = asyncio.Event()
    async with served(tokenizer) as client:
        before = resident()
        normal = [asyncio.create_task(stream_until(over, client, str(number), anew=True)) for number in range(STREAMS)]

        answers = {name: await patient_answer(client, schema) for name, schema in HOSTILE.items()}

        over.set()
        counts = await asyncio.gather(*normal)
        for name, (response, seconds) in answers.items():
            assert response.status_code in (200, 400), f"{name}: {response.text}"
            assert seconds < 10, name  # two on a machine with nothing else to do
        assert len(answers) == 12
        assert all(counts)
        assert resident() - before < 400 << 20


async def test_threads_give_way_to_the_event_loop_while_the_server_runs(tokenizer):
    others = sys.getswitchinterval()  # perhaps of a server of other tests
    sys.setswitchinterval(0.005)
    try:
        async with served(tokenizer):
            assert sys.getswitchinterval() < 0.001
        assert sys.getswitchinterval() == pytest.approx(0.005)
    finally:
        sys.setswitchinterval(others)
