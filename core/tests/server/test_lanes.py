"""Requests whose prompts take long, and those of others."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from strictness.hostile import served as running

from toolglot.errors import QueueFullError
from toolglot.prompts import PromptRenderer
from toolglot.server import lanes as lanes_module
from toolglot.server.lanes import SMALL, Lanes

LARGE = [{"role": "user", "content": "x" * (SMALL + 1000)}]
SMALL_ONES = [{"role": "user", "content": "Hi"}]


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    made = Lanes("test")
    yield made
    made.close()


async def test_small_work_overtakes_large(lanes):
    done = threading.Event()
    sizes = (SMALL + 1, 1 << 30)
    large = [asyncio.create_task(lanes.run(size, done.wait)) for size in sizes for _ in range(3)]
    await asyncio.sleep(0)

    assert await asyncio.wait_for(lanes.run(SMALL, lambda: "small"), 10) == "small"

    assert not any(task.done() for task in large)
    done.set()
    assert await asyncio.gather(*large) == [True] * 6


async def test_work_of_one_size_is_done_in_order(lanes):
    order: list[int] = []
    await asyncio.gather(*(lanes.run(SMALL, lambda number=number: order.append(number)) for number in range(20)))
    assert order == list(range(20))


async def test_much_work_of_one_size_does_not_keep_out_others(lanes, monkeypatch):
    monkeypatch.setattr(lanes_module, "_MOST_WAITING", 2)
    done = threading.Event()
    large = [asyncio.create_task(lanes.run(1 << 30, done.wait)) for _ in range(2)]
    await asyncio.sleep(0)

    with pytest.raises(QueueFullError):
        await lanes.run(1 << 30, done.wait)
    assert await lanes.run(1, lambda: "small") == "small"

    done.set()
    await asyncio.gather(*large)
    assert await lanes.run(1 << 30, lambda: "again") == "again"


def test_a_request_overtakes_one_whose_prompt_takes_long(served, monkeypatch):
    begun, done, render = threading.Event(), threading.Event(), PromptRenderer.render

    def slow(self, request, **options):
        if len(request.messages[0]["content"]) > SMALL:
            begun.set()
            assert done.wait(10)
        return render(self, request, **options)

    monkeypatch.setattr(PromptRenderer, "render", slow)
    served.engine.say("Hello")
    with ThreadPoolExecutor(1) as thread:
        large: httpx.Response
        waiting = thread.submit(served.post, messages=LARGE)
        try:
            assert begun.wait(10)
            assert served.post(messages=SMALL_ONES).status_code == 200
            assert served.http.post("/tokenize", json={"prompt": "Hi"}).json()["count"] == 2
            assert not waiting.done()
        finally:
            done.set()
        large = waiting.result()
    assert large.status_code == 400
    assert large.json()["error"]["code"] == "context_length_exceeded"


async def test_collections_do_not_look_at_what_was_there_from_the_start(tokenizer):
    gc.unfreeze()  # perhaps a server of other tests runs
    async with running(tokenizer):
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0
