"""The engine's promises, on tiny models."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Sequence
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any

import pytest
import torch

from toolglot.engine import local, loop
from toolglot.engine.kv_cache import KVCache
from toolglot.engine.local import LocalEngine
from toolglot.engine.model import Model
from toolglot.engine.protocol import SamplingParams
from toolglot.engine.scheduler import Scheduler
from toolglot.errors import EngineError, ModelError, QueueFullError
from toolglot.grammar.matcher import TokenSet

FOREVER = SamplingParams(max_tokens=900_000, temperature=0)
PROMPTS = [[5], [1, 2, 3], list(range(40)), [*range(90, 10, -1)], [7, 7, 7, 7, 7, 7, 7], list(range(33))]


class Steps:
    """A constraint, and its own matcher: given sets of tokens are allowed one after the other."""

    def __init__(self, *allowed: set[int]) -> None:
        self.allowed = list(allowed)

    def matcher(self) -> Steps:
        return type(self)(*self.allowed)

    @property
    def finished(self) -> bool:
        return not self.allowed

    def forced(self, most: int) -> list[int]:
        return [next(iter(allowed)) for allowed in takewhile(lambda each: len(each) == 1, self.allowed[:most])]

    def fill(self, words: torch.Tensor, drafts: Sequence[int] = ()) -> None:
        for row, allowed in zip_longest(words, self.allowed[: len(words)], fillvalue=set()):
            row.copy_(TokenSet.of(allowed, 96).words)

    def accept(self, token: int) -> bool:
        return token in self.allowed.pop(0)


class BrokenMask(Steps):
    def fill(self, words: torch.Tensor, drafts: Sequence[int] = ()) -> None:
        raise ValueError("broken")


class Disagreeing(Steps):
    def accept(self, token: int) -> bool:
        return False


class Slow(Steps):
    """Its masks are made when they are wanted, which takes until ``go``, the first time."""

    lazy = True
    go = threading.Event()

    def fill(self, words: torch.Tensor, drafts: Sequence[int] = ()) -> None:
        self.go.wait(20)
        super().fill(words, drafts)


class SlowAndBroken(Slow):
    def fill(self, words: torch.Tensor, drafts: Sequence[int] = ()) -> None:
        super().fill(words, drafts)
        raise ValueError("broken")


class NoMatcher:
    def matcher(self) -> Any:
        raise RuntimeError("no matcher today")


async def test_greedy_output_is_generates_alone_and_in_any_company(each_checkpoint, serve, collect, generate):
    expected = generate(each_checkpoint, PROMPTS, 24)
    engine = await serve(each_checkpoint)

    alone = [await collect(engine, prompt, 24) for prompt in PROMPTS]
    together = await asyncio.gather(*(collect(engine, prompt, 24) for prompt in PROMPTS))

    assert alone == together == [(tokens, "length") for tokens in expected]


async def test_prompts_cut_into_chunks_give_the_same(each_checkpoint, serve, collect, generate, monkeypatch):
    monkeypatch.setitem(local._BATCH_TOKENS, "cpu", 8)
    engine = await serve(each_checkpoint, max_num_seqs=4)  # so steps mix chunks of prompts with single tokens

    together = await asyncio.gather(*(collect(engine, prompt, 12) for prompt in PROMPTS))

    assert [tokens for tokens, _ in together] == generate(each_checkpoint, PROMPTS, 12)


def held(engine: LocalEngine) -> int:
    """How many blocks of the cache are not given back."""
    return engine._loop._scheduler.blocks.held


async def test_requests_wait_for_room_in_the_cache(checkpoint, serve, collect, cache_of, preemptions):
    engine = await serve(checkpoint)
    expected = [await collect(engine, prompt, 60) for prompt in PROMPTS]
    cache_of(160, 8)
    small = await serve(checkpoint)

    assert small.info.max_model_len == small.info.facts["cache_tokens"] == 160
    assert await asyncio.gather(*(collect(small, prompt, 60) for prompt in PROMPTS)) == expected
    assert preemptions
    assert held(small) == 0


async def test_what_it_does_can_be_asked_for(endless, serve, collect, cache_of, until):
    cache_of(160, 4)
    engine = await serve(endless, max_num_seqs=2, max_model_len=160, max_num_batched_tokens=80)
    streams = [engine.submit([n] * 20, SamplingParams(max_tokens=140)) for n in (1, 2, 3)]
    await anext(streams[1])

    busy = engine.stats
    assert (busy.engine_running, busy.engine_waiting, busy.engine_pass_tokens) == (2, 1, 80)
    assert 10 <= busy.cache_blocks_held <= busy.cache_blocks == 40
    for stream in streams:
        async for _ in stream:
            pass
    idle = engine.stats
    assert (idle.engine_running, idle.engine_waiting, idle.cache_blocks_held) == (0, 0, 0)
    assert 0 < idle.cache_blocks_known <= 40
    assert idle.preemptions > 0
    assert idle.cache_blocks_forgotten > 0
    await engine.stop()
    assert engine.stats is None


async def test_the_cache_and_the_passes_are_as_large_as_asked(checkpoint, serve, collect, monkeypatch):
    token = 256  # bytes: two layers with two heads of keys and values of eight floats
    large = await serve(checkpoint, kv_cache_memory_bytes=1000 * 32 * token + 5, max_num_seqs=1)
    small = await serve(checkpoint, kv_cache_memory_bytes=3 * 32 * token, max_num_batched_tokens=32)
    sizes = out_of_memory(monkeypatch, RuntimeError(), 1000)

    assert large.stats.cache_blocks == 1000
    assert (small.info.max_model_len, small.stats.cache_blocks) == (96, 3)
    assert small.info.facts["max_model_len_reason"] == "the memory for its key-value cache"
    await collect(small, [1] * 90, 6)
    assert sizes[:3] == [32, 32, 26]


async def test_a_request_that_is_computed_again_goes_on_where_it_was(checkpoint, serve, collect, cache_of, preemptions):
    """Its random numbers, its penalties, its grammar and its probabilities too; and no token comes twice."""
    kinds: list[dict[str, Any]] = [
        {"temperature": 1.0, "seed": 3},
        {"temperature": 0.8, "seed": 4, "presence_penalty": 1.5, "repetition_penalty": 1.2},
        {"constraint": Steps(*[{n, n + 1, n + 2} for n in range(60)]), "temperature": 1.0, "seed": 5},
        {"logprobs": 0},
    ]

    async def all_of(engine: LocalEngine) -> list[Any]:
        return await asyncio.gather(*(collect(engine, [n], 60, **kind) for n, kind in enumerate(kinds)))

    expected = await all_of(await serve(checkpoint))
    cache_of(100, 4)
    small = await serve(checkpoint)

    assert await all_of(small) == expected
    assert max(preemptions) > 20
    assert held(small) == 0


async def test_what_was_computed_before_is_not_computed_again_but_for_another_salt(checkpoint, serve):
    engine = await serve(checkpoint)
    prompt = [n % 90 for n in range(70)]

    async def cached(salt: bytes) -> list[int]:
        sampling = SamplingParams(max_tokens=3, cache_salt=salt)
        return [delta.cached_tokens async for delta in engine.submit(prompt, sampling)]

    assert [await cached(salt) for salt in (b"", b"", b"a", b"b", b"a")] == [
        [0, 0, 0],
        [64, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
        [64, 0, 0],
    ]


async def test_what_was_cached_is_also_told_where_the_first_token_is_the_last(checkpoint, serve, collect):
    (stop,), _ = await collect(await serve(checkpoint), [7] * 40, 1)
    engine = await serve(checkpoint, eos=stop)
    for cached in (0, 32):
        (delta,) = [delta async for delta in engine.submit([7] * 40, SamplingParams(max_tokens=9, temperature=0))]
        assert (delta.token_ids, delta.stop_token, delta.cached_tokens) == ((), stop, cached)


async def test_the_longest_request_fits_where_memory_is_the_limit(checkpoint, serve, collect, monkeypatch):
    monkeypatch.setattr(local, "memory_for_cache", lambda device: 103 * 256)  # 103 tokens: not a whole number of blocks
    engine = await serve(checkpoint)

    length = engine.info.max_model_len
    tokens, finish = await asyncio.wait_for(collect(engine, [1, 2, 3], length - 3), 60)

    assert length <= 103
    assert (len(tokens), finish) == (length - 3, "length")


async def test_a_stop_token_ends_the_output_and_is_not_in_it(checkpoint, serve, collect):
    tokens, _ = await collect(await serve(checkpoint), [1, 2, 3], 20)
    stop = tokens[5]
    engine = await serve(checkpoint, eos=stop)

    assert stop in engine.info.stop_token_ids
    assert await collect(engine, [1, 2, 3], 20) == (tokens[: tokens.index(stop)], "stop")
    assert await collect(engine, [1, 2, 3], 20, ignore_eos=True) == (tokens, "length")


async def test_the_last_delta_says_which_stop_token_ended_the_output(checkpoint, serve, collect):
    tokens, _ = await collect(await serve(checkpoint), [1, 2, 3], 20)
    engine = await serve(checkpoint, eos=tokens[5])

    *before, last = [delta async for delta in engine.submit([1, 2, 3], SamplingParams(max_tokens=20, temperature=0))]
    assert (last.token_ids, last.finish, last.stop_token) == ((), "stop", tokens[5])
    assert {delta.stop_token for delta in before} == {None}


@pytest.mark.parametrize("eos", [96, -1])
async def test_a_stop_token_that_the_model_does_not_have_is_none(checkpoint, serve, collect, eos):
    engine = await serve(checkpoint, eos=eos)

    assert engine.info.stop_token_ids == frozenset()
    assert (await collect(engine, [1], 5, min_tokens=3))[1] == "length"


async def test_twenty_requests_at_once_all_finish(checkpoint, serve, collect):
    engine = await serve(checkpoint, max_num_seqs=4)

    outputs = await asyncio.gather(*(collect(engine, [n, n + 1], 10) for n in range(20)))

    assert [(len(tokens), finish) for tokens, finish in outputs] == [(10, "length")] * 20
    assert engine.running == 0


async def test_a_full_queue_refuses_at_once_and_has_room_again_later(endless, serve, collect, until):
    engine = await serve(endless, max_num_seqs=1, max_queue=1)
    streams = [engine.submit([1], FOREVER), engine.submit([2], FOREVER)]

    with pytest.raises(QueueFullError) as refused:
        engine.submit([3], FOREVER)
    assert refused.value.retry_after >= 1

    for stream in streams:
        await stream.aclose()
    await until(lambda: engine.running == 0)
    assert len((await collect(engine, [3], 4))[0]) == 4


async def test_closing_a_stream_frees_its_slot(endless, serve, collect, until):
    engine = await serve(endless, max_num_seqs=1)
    stream = engine.submit([1], FOREVER)
    await anext(stream)
    waiting = asyncio.create_task(collect(engine, [2], 3))

    await stream.aclose()

    assert len((await waiting)[0]) == 3
    assert engine.running == 0
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_dropping_a_stream_frees_its_slot_read_or_not(endless, serve, until):
    engine = await serve(endless, max_num_seqs=1)
    read, unread = engine.submit([1], FOREVER), engine.submit([2], FOREVER)
    await anext(read)
    assert engine.running == 2

    del read, unread
    gc.collect()

    await until(lambda: engine.running == 0)


async def test_cancelling_the_task_that_reads_frees_the_slot(endless, serve, until):
    engine = await serve(endless, max_num_seqs=1)
    stream = engine.submit([1], FOREVER)

    async def read() -> None:
        async for _ in stream:
            pass

    task = asyncio.create_task(read())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await until(lambda: engine.running == 0)
    assert [delta async for delta in stream] == []


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (BrokenMask({1}), r"generation failed \(ValueError\)"),
        (Disagreeing({1}), "the grammar rejected token 1"),
        (NoMatcher(), r"generation failed \(RuntimeError\)"),
    ],
)
async def test_a_request_that_fails_costs_no_other(checkpoint, serve, collect, constraint, message):
    engine = await serve(checkpoint)
    expected = await collect(engine, [1, 2, 3], 20)

    good, bad = await asyncio.gather(
        collect(engine, [1, 2, 3], 20), collect(engine, [4], 20, constraint), return_exceptions=True
    )

    assert good == expected
    with pytest.raises(EngineError, match=message):
        raise bad
    with pytest.raises(EngineError, match=message):  # alone too: its error wakes nobody else
        await collect(engine, [4], 20, constraint)


async def test_a_grammar_whose_masks_take_long_holds_nobody_else(checkpoint, serve, collect, until, monkeypatch):
    monkeypatch.setattr(Slow, "go", threading.Event())
    engine = await serve(checkpoint, max_num_seqs=4)
    expected = await collect(engine, [1, 2, 3], 20)
    slow = asyncio.create_task(collect(engine, [4], 9, Slow({5, 6}, {7}, {8}, {9, 10})))
    broken = asyncio.create_task(collect(engine, [4], 9, SlowAndBroken({5})))
    left = asyncio.create_task(collect(engine, [4] * 5, 9, Slow({5})))
    await until(lambda: engine.stats.engine_running == 3)

    for _ in range(2):
        assert await asyncio.wait_for(collect(engine, [1, 2, 3], 20), 10) == expected
    assert not slow.done()
    left.cancel()
    Slow.go.set()
    tokens, finish = await slow
    assert (tokens[1:3], finish) == ([7, 8], "stop")
    with pytest.raises(EngineError, match=r"generation failed \(ValueError\)"):
        await broken
    await until(lambda: engine.running == 0)
    assert held(engine) == 0


async def test_a_request_without_numbers_fails_and_spoils_no_other(checkpoint, serve, collect, monkeypatch):
    engine = await serve(checkpoint, max_num_seqs=4)
    prompts = [[number] * (5 + 40 * number) for number in range(4)]
    expected = [await collect(await serve(checkpoint), prompt, 12) for prompt in prompts]
    store = KVCache.store

    def broken_store(cache: KVCache, layer: int, slots: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Any:
        return store(cache, layer, slots, keys * torch.nan, values * torch.nan)

    with monkeypatch.context() as broken:
        broken.setattr(KVCache, "store", broken_store)
        for prompt in ([9] * 200, [3] * 125):
            with pytest.raises(EngineError, match=r"generation failed \(ArithmeticError\)"):
                await collect(engine, prompt, 8)

    assert await asyncio.gather(*(collect(engine, prompt, 12) for prompt in prompts)) == expected
    assert held(engine) == 0


async def test_a_forward_error_fails_its_batch_and_the_loop_survives(checkpoint, serve, collect, monkeypatch):
    engine = await serve(checkpoint)
    expected = await collect(engine, [1, 2, 3])
    with monkeypatch.context() as broken:
        broken.setattr(Model, "forward", lambda *_: (_ for _ in ()).throw(RuntimeError("out of memory")))
        failed = await asyncio.gather(*(collect(engine, [n]) for n in range(3)), return_exceptions=True)

    assert [type(error) for error in failed] == [EngineError] * 3
    assert (engine.running, held(engine)) == (0, 0)
    assert await collect(engine, [1, 2, 3]) == expected


async def test_an_engine_that_fails_again_and_again_is_not_ready_until_it_does_not(
    checkpoint, serve, collect, monkeypatch
):
    engine = await serve(checkpoint)
    ready = []
    with monkeypatch.context() as broken:
        broken.setattr(Model, "forward", lambda *_: (_ for _ in ()).throw(RuntimeError("the device was lost")))
        for _ in range(4):
            ready.append(engine.ready)
            with pytest.raises(EngineError, match=r"generation failed \(RuntimeError\)"):
                await collect(engine, [1])

    assert ready == [True, True, True, False]
    assert (engine.alive, engine.ready) == (True, False)
    await collect(engine, [1])
    assert engine.ready
    await engine.stop()
    assert not engine.ready


async def test_an_engine_that_is_not_ready_tries_by_itself_and_is_ready_once_it_succeeds(
    checkpoint, serve, collect, until, monkeypatch, caplog
):
    monkeypatch.setattr(loop, "_PROBE_SECONDS", 0.01)
    engine = await serve(checkpoint)
    with monkeypatch.context() as broken:
        broken.setattr(Model, "forward", lambda *_: (_ for _ in ()).throw(RuntimeError("the device was lost")))
        with pytest.raises(EngineError):
            await collect(engine, [1])
        await until(lambda: not engine.ready)  # two more of its own have failed
        await until(lambda: engine._loop.failures > 5)
        assert (engine.alive, engine.ready, engine.running) == (True, False, 0)
    await until(lambda: engine.ready and held(engine) == 0)

    assert (engine.running, engine.stats.engine_waiting) == (0, 0)
    assert caplog.text.count("Traceback") == 1
    passes = out_of_memory(monkeypatch, RuntimeError(), 1000)
    await asyncio.sleep(0.1)
    assert not passes  # it is well: it tries no more
    assert (await collect(engine, [1]))[1] == "length"


OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."),
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"),
    MemoryError("std::bad_alloc"),
]


def out_of_memory(monkeypatch: pytest.MonkeyPatch, error: Exception, most: int) -> list[int]:
    """Let forward passes of more than ``most`` tokens fail; returns how many each had, in the end."""
    sizes: list[int] = []
    forward = Model.forward

    def limited(self: Model, step: Any) -> torch.Tensor:
        sizes.append(len(step.batch.token_ids))
        if sizes[-1] > most:
            raise error
        return forward(self, step)

    monkeypatch.setattr(Model, "forward", limited)
    return sizes


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["CUDA", "CPU", "int8"])
async def test_out_of_memory_makes_passes_smaller_and_loses_nothing(checkpoint, serve, collect, monkeypatch, error):
    engine = await serve(checkpoint, max_num_seqs=6)
    expected = await asyncio.gather(*(collect(engine, prompt, 12) for prompt in PROMPTS))
    fresh = await serve(checkpoint, max_num_seqs=6)
    sizes = out_of_memory(monkeypatch, error, 40)

    assert await asyncio.gather(*(collect(fresh, prompt, 12) for prompt in PROMPTS)) == expected
    assert (fresh.ready, held(fresh)) == (True, 0)
    assert [size for size in sizes if size > 40] == [sum(map(len, PROMPTS)), 128, 64]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["CUDA", "CPU", "int8"])
async def test_out_of_memory_with_the_smallest_passes_fails_those_of_the_pass(
    checkpoint, serve, collect, monkeypatch, error
):
    engine = await serve(checkpoint, max_num_seqs=2)
    with monkeypatch.context() as full:
        sizes = out_of_memory(full, error, 0)
        with pytest.raises(EngineError, match="generation failed"):
            await collect(engine, [5] * 200)

    assert sizes == [200, 128, 64, 32, 16, 8, 4, 2]
    assert (engine.ready, engine.running, held(engine)) == (True, 0, 0)
    assert len((await collect(engine, [5], 3))[0]) == 3


async def test_a_constraint_decides_what_is_sampled_and_when_it_ends(checkpoint, serve, collect):
    engine = await serve(checkpoint, eos=9)

    assert await collect(engine, [1], 50, Steps({11}, {22}, {9})) == ([11, 22], "stop")
    assert await collect(engine, [1], 50, Steps({11}, {22})) == ([11, 22], "stop")  # it ends without a stop token
    assert await collect(engine, [1], 1, Steps({11}, {22}, {9})) == ([11], "length")


async def test_seeds_make_sampling_reproducible(checkpoint, serve, collect):
    engine = await serve(checkpoint)
    sampled = {"temperature": 1.0, "max_tokens": 30}

    one = await collect(engine, [1], **sampled, seed=1)
    again, other, *_ = await asyncio.gather(
        collect(engine, [1], **sampled, seed=1),
        collect(engine, [1], **sampled, seed=2),
        collect(engine, [4], **sampled),
    )

    assert one == again
    assert one != other


async def test_the_engines_own_seed_covers_requests_without_one(checkpoint, serve, collect):
    outputs = [
        await collect(await serve(checkpoint, seed=seed), [1], temperature=1.0, max_tokens=30) for seed in (5, 5, 6)
    ]

    assert outputs[0] == outputs[1] != outputs[2]


async def test_nothing_is_left_of_many_requests_that_end_in_all_ways(
    checkpoint, serve, collect, cache_of, preemptions, until
):
    cache_of(160, 4)
    engine = await serve(checkpoint, max_num_seqs=6)
    expected = [await collect(engine, prompt, 30) for prompt in PROMPTS]

    async def left_early(prompt: list[int], after: int) -> None:
        stream = engine.submit(prompt, SamplingParams(max_tokens=60, temperature=0))
        for _ in range(after):
            await anext(stream)
        await stream.aclose()

    async def client(number: int) -> None:
        for turn in range(6):
            which = (number + turn) % len(PROMPTS)
            if (number + turn) % 5 == 0:
                await left_early(PROMPTS[which], turn * 3)
            elif (number + turn) % 7 == 0:
                with pytest.raises(EngineError):
                    await collect(engine, PROMPTS[which], 9, BrokenMask({1}))
            else:
                assert await collect(engine, PROMPTS[which], 30) == expected[which]

    await asyncio.gather(*map(client, range(12)))

    await until(lambda: engine.running == 0)
    assert held(engine) == 0
    assert preemptions


@pytest.mark.parametrize(
    ("prompt", "max_tokens", "message"),
    [
        ([], 5, "needs a prompt"),
        ([1], 0, "at least one token"),
        ([96], 5, "vocabulary of 96"),
        ([-1], 5, "vocabulary of 96"),
        ([1] * 250, 7, "250 tokens of prompt and 7 of output are more than the 256"),
    ],
)
async def test_impossible_requests_are_refused(checkpoint, serve, prompt, max_tokens, message):
    engine = await serve(checkpoint)

    with pytest.raises(EngineError, match=message):
        engine.submit(prompt, SamplingParams(max_tokens=max_tokens))
    assert engine.running == 0


async def test_stop_aborts_what_runs_and_leaves_no_thread(endless, serve, collect):
    engine = await serve(endless, max_num_seqs=1)
    expected = await collect(engine, [1])
    running, waiting = (asyncio.create_task(collect(engine, [n], 900_000)) for n in (1, 2))
    await asyncio.sleep(0)

    assert engine.alive
    await engine.stop()

    assert not engine.alive
    assert [(await task)[1] for task in (running, waiting)] == ["abort", "abort"]
    assert not engine_threads()
    with pytest.raises(EngineError, match="not running"):
        engine.submit([1], FOREVER)
    await engine.start()
    assert await collect(engine, [1]) == expected


def engine_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("toolglot-engine")]


async def test_starts_and_stops_at_once_leave_one_thread_or_none(checkpoint, serve, collect):
    engine = await serve(checkpoint)
    expected = await collect(engine, [1])
    await asyncio.gather(engine.stop(), engine.start(), engine.start())
    assert len(engine_threads()) == 1
    assert await collect(engine, [1]) == expected

    await engine.stop()
    await asyncio.gather(engine.start(), engine.stop())
    assert not engine.alive
    assert not engine_threads()


async def test_a_stop_that_is_cancelled_stops(endless, serve):
    engine = await serve(endless)
    stream = engine.submit([1], FOREVER)
    stopping = asyncio.create_task(engine.stop())
    await asyncio.sleep(0)
    stopping.cancel()

    assert [delta async for delta in stream][-1].finish == "abort"
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert not engine_threads()


async def test_a_stop_is_noticed_whatever_the_thread_does_when_it_comes(checkpoint, serve, collect):
    engine = await serve(checkpoint)
    running = engine._loop

    class StoppedMeanwhile(threading.Event):
        def clear(self) -> None:
            running._stopping = True
            self.set()
            super().clear()

    idle, running._wake = running._wake, StoppedMeanwhile()
    idle.set()
    running._wake.set()
    await asyncio.to_thread(running._thread.join, 10)
    assert not running._thread.is_alive()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_defect_that_ends_the_thread_leaves_nobody_waiting(endless, serve, until, monkeypatch):
    engine = await serve(endless)
    stream = engine.submit([1], FOREVER)
    await anext(stream)

    def defect(self: Scheduler) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Scheduler, "schedule", defect)

    assert [delta async for delta in stream][-1].finish == "abort"
    await until(lambda: not engine.alive)
    with pytest.raises(EngineError, match="not running"):
        engine.submit([1], FOREVER)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_what_comes_while_a_defect_ends_the_thread_is_refused(endless, serve, until, monkeypatch):
    engine = await serve(endless)
    stream = engine.submit([1], FOREVER)
    await anext(stream)
    ending, go_on = threading.Event(), threading.Event()

    def slowly(self: loop.Loop, sequences: list[Any]) -> None:
        ending.set()
        go_on.wait(10)

    monkeypatch.setattr(loop.Loop, "_turn", lambda self: 1 / 0)
    monkeypatch.setattr(loop.Loop, "_abort", slowly)
    await until(ending.is_set)
    try:
        with pytest.raises(EngineError, match="not running"):
            engine.submit([2], FOREVER)
    finally:
        go_on.set()


async def test_the_event_loop_may_close_without_a_stop(endless):
    class NoTokenizer:
        eos_token_id = None

    engine = LocalEngine(endless, name="tiny", tokenizer=NoTokenizer(), dtype="float32", threads=1)

    async def abandon() -> None:
        await engine.start()
        engine.submit([1], FOREVER)._sequence.cancelled = False  # the stream is gone, its request goes on

    await asyncio.to_thread(asyncio.run, abandon())

    assert engine._loop is not None
    thread = engine._loop._thread
    await asyncio.to_thread(thread.join, 20)
    assert not thread.is_alive()


def test_info_tells_what_startup_logs(checkpoint):
    class EndsWith:
        eos_token_id = 3

    info = LocalEngine(checkpoint, name="tiny", tokenizer=EndsWith(), dtype="float32", threads=1).info

    assert (info.name, info.max_model_len, info.vocab_size, info.stop_token_ids) == ("tiny", 256, 96, {3})
    assert {"attention": "sdpa", "dtype": "float32", "device": "cpu", "threads": 1}.items() <= info.facts.items()
    assert "CUDA" in info.facts["attention_reason"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_model_len": 257}, "from 2 to 256, because of its config's max_position_embeddings"),
        (
            {"max_model_len": 200, "kv_cache_memory_bytes": 16384},
            "from 2 to 64, because of the memory for its key-value",
        ),
        ({"kv_cache_memory_bytes": 8191}, "a block of the key-value cache takes 8192 bytes, and it is to have fewer"),
        ({"max_num_batched_tokens": 31}, "max_num_batched_tokens 31 is not possible: it must be at least 32, two for"),
        ({"dtype": "float8"}, "unknown dtype 'float8'; use auto, float32, bfloat16 or int8"),
        ({"attention": "flash2"}, "--attention flash2 cannot run here: it needs CUDA"),
        ({"attention": "eager"}, "unknown attention 'eager'; use auto, flash2, flash4, sdpa"),
    ],
)
def test_settings_that_cannot_be_had_say_why(checkpoint, settings, message):
    with pytest.raises(ModelError, match=message):
        LocalEngine(checkpoint, name="tiny", tokenizer=None, **{"dtype": "float32", **settings})


async def test_bfloat16_runs_on_the_cpu_too(checkpoint: Path, serve, collect):
    engine = await serve(checkpoint, dtype="bfloat16")

    assert engine.info.facts["dtype"] == "bfloat16"
    assert len((await collect(engine, [1, 2], 5))[0]) == 5


async def told(engine: LocalEngine, **fields: Any) -> list[Any]:
    sampling = SamplingParams(**{"max_tokens": 12, "temperature": 0, **fields})
    return [delta async for delta in engine.submit([1, 2, 3], sampling, fields.pop("constraint", None))]


async def test_probabilities_come_with_each_token_and_do_not_depend_on_the_temperature(checkpoint, serve):
    engine = await serve(checkpoint)
    deltas = await told(engine, logprobs=3)
    hot = await told(engine, logprobs=3, temperature=1.5, max_tokens=1, seed=1)

    for delta in deltas:
        (logprobs,) = delta.logprobs
        assert logprobs.top[0] == (delta.token_ids[0], logprobs.logprob)
        assert len(logprobs.top) == 3
    assert hot[0].logprobs[0].top == deltas[0].logprobs[0].top
    assert all(delta.logprobs == () for delta in await told(engine))


async def test_a_bias_and_a_penalty_change_the_choice_and_not_the_probabilities(checkpoint, serve):
    engine = await serve(checkpoint)
    plain = await told(engine, logprobs=1, max_tokens=1)
    biased = await told(engine, logprobs=1, max_tokens=4, logit_bias={7: 100})
    varied = await told(engine, max_tokens=40, presence_penalty=2, frequency_penalty=2, repetition_penalty=50)

    assert [delta.token_ids for delta in biased] == [(7,)] * 4
    assert biased[0].logprobs[0].top == plain[0].logprobs[0].top
    assert len({delta.token_ids for delta in varied}) == 40


async def test_a_grammar_wins_over_a_bias(checkpoint, serve, collect):
    engine = await serve(checkpoint)
    steps = Steps({4, 5}, {6}, {8, 9})
    tokens, _ = await collect(engine, [1, 2], 3, steps, logit_bias={7: 100, 5: 50, 9: 50}, min_tokens=3)

    assert tokens == [5, 6, 9]


async def test_the_client_can_name_stop_tokens(checkpoint, serve, collect):
    engine = await serve(checkpoint)
    tokens, _ = await collect(engine, [1, 2, 3], 12)
    stop = next(token for token in tokens if tokens.index(token) >= 2)
    at = tokens.index(stop)

    for fields in ({}, {"ignore_eos": True}):
        deltas = await told(engine, stop_token_ids=frozenset({stop}), **fields)
        assert [token for delta in deltas for token in delta.token_ids] == tokens[:at]
        assert (deltas[-1].finish, deltas[-1].stop_token) == ("stop", stop)
    held, _ = await collect(engine, [1, 2, 3], 12, stop_token_ids=frozenset({stop}), min_tokens=12)
    assert held[:at] == tokens[:at]
    assert len(held) == 12
    assert stop not in held[:11]
