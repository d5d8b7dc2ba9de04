"""Compiling within limits."""

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import torch
from msgspec.structs import replace

from toolglot.errors import EngineError, GrammarError, QueueFullError
from toolglot.grammar import BoundedCompiler, CompiledTag, CompileLimits, Compiler, trials
from toolglot.grammar.worker import step_back
from toolglot.structural_tag import AnyText, ConstString, Format, Grammar, Or, Sequence, StructuralTag, Token

pytestmark = pytest.mark.asyncio(loop_scope="module")  # they share a process, as it takes seconds to start
PATIENT = CompileLimits(seconds=60, more_seconds=60)
"""Enough for any of these tags on a busy machine."""


@pytest.fixture(scope="module")
def make(tokenizers) -> Callable[[int], Compiler]:
    """Makes the plain compiler of the small tokenizer."""
    tokenizer = tokenizers(False)
    size, stop = tokenizer.get_vocab_size(), tokenizer.token_to_id("<|im_end|>")
    return lambda cache_bytes: Compiler(tokenizer, vocab_size=size, stop_token_ids=[stop], cache_bytes=cache_bytes)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(make) -> AsyncIterator[BoundedCompiler]:
    compiler = BoundedCompiler(make, PATIENT)
    yield compiler
    await compiler.stop()


@pytest.fixture
def limited(shared, monkeypatch) -> Callable[..., BoundedCompiler]:
    """``limited(**limits)``: the shared compiler with other limits for one test."""

    def limit(**limits: Any) -> BoundedCompiler:
        monkeypatch.setattr(shared, "_limits", replace(PATIENT, **limits))
        return shared

    return limit


def tag(fmt: Format) -> StructuralTag:
    return StructuralTag(fmt)


def endless(number: int = 0) -> StructuralTag:
    """A grammar that XGrammar needs a minute for, also without its masks."""
    rules = (f'r{at} ::= "{number} {at}" | "b" r{at * 7919 % 60_000}' for at in range(60_000))
    return tag(Grammar("\n".join(("root ::= " + " | ".join(f"r{at}" for at in range(60_000)), *rules))))


def large() -> StructuralTag:
    """A grammar whose masks take a second, and nothing else of it does."""
    names = ["".join(letters) for depth in range(8) for letters in product("abc", repeat=depth)]
    rules = [f"n{name} ::= " + " | ".join(f'"{one}(" n{name}{one} ")"' for one in "abc") for name in names]
    leaves = [f"n{''.join(letters)} ::= [a-z]{{1,9}}" for letters in product("abc", repeat=8)]
    return tag(Grammar("\n".join(("root ::= n", *rules, *leaves))))


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def allowed(compiled: CompiledTag) -> list[int]:
    logits = torch.zeros(compiled.grammar.tokenizer_info.vocab_size - 1)
    compiled.matcher().mask(logits)
    return (logits == 0).nonzero().flatten().tolist()


async def test_what_is_compiled_is_what_the_plain_compiler_compiles(shared, make):
    fmt = tag(Sequence((AnyText(excludes=("x",)), ConstString("x"))))

    assert allowed(await shared.compile(fmt)) == allowed(make(0).compile(fmt))


async def test_a_tag_that_takes_too_long_is_refused_in_time(shared, limited):
    await shared.compile(tag(ConstString("a")))
    compiler = limited(seconds=1)

    start = time.monotonic()
    with pytest.raises((GrammarError, QueueFullError), match=r"it takes more than 1 s|at capacity"):
        await compiler.compile(endless(1))

    assert time.monotonic() - start < 10


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_a_tag_that_others_left_no_time_is_not_refused(shared, limited):
    await shared.compile(tag(ConstString("a")))
    group = (await shared._trials.start())._process.pid
    compiling = asyncio.create_task(limited(seconds=3).compile(endless(6)))
    child = await working(group)

    os.kill(child, signal.SIGSTOP)
    await asyncio.sleep(4)  # longer than it may take
    os.kill(child, signal.SIGCONT)

    with pytest.raises(QueueFullError):
        await compiling


async def working(group: int) -> int:
    """The id of a child of a process that has had a little of a processor's time."""
    for _ in range(2000):
        if (found := next((child for child in children(group) if processor_seconds(child) > 0.03), None)) is not None:
            return found
        await asyncio.sleep(0.005)
    raise AssertionError


def children(process: int) -> list[int]:
    return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def processor_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0.0
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_a_tag_that_nobody_tells_of_is_not_refused(shared, limited, monkeypatch):
    await shared.compile(tag(ConstString("a")))
    monkeypatch.setattr(trials, "_PATIENCE", 1.0)
    group = (await shared._trials.start())._process.pid
    compiling = asyncio.create_task(limited(seconds=0.5).compile(endless(7)))
    child = await working(group)

    os.kill(child, signal.SIGSTOP)

    try:
        with pytest.raises(QueueFullError):
            await compiling
    finally:
        os.kill(child, signal.SIGKILL)


async def test_a_tag_that_takes_too_much_memory_is_refused(limited):
    compiler = limited(memory=1 << 20)

    with pytest.raises(GrammarError, match="cannot be compiled into a grammar: it takes too much memory"):
        await compiler.compile(endless(2))


async def test_a_tag_that_is_too_large_is_refused(limited):
    with pytest.raises(GrammarError, match="characters long; up to 10 are allowed") as refused:
        await limited(size=10).compile(tag(ConstString("too large")))

    assert refused.value.param == "tools"


async def test_a_refusal_is_kept(shared, monkeypatch):
    bad = tag(Grammar("root ::= nothing"))
    with pytest.raises(GrammarError) as first:
        await shared.compile(bad)

    monkeypatch.setattr(shared, "_tried", None)  # so that nothing can be compiled
    with pytest.raises(GrammarError) as second:
        await shared.compile(bad)

    assert str(first.value) == str(second.value)
    assert ".cc" not in str(first.value)


async def test_a_tag_that_several_want_is_compiled_once(shared):
    tasks = [asyncio.create_task(shared.compile(tag(ConstString("c")))) for _ in range(5)]
    await asyncio.sleep(0)
    tasks[0].cancel()

    found = await asyncio.gather(*tasks[1:])

    assert all(one is found[0] for one in found)
    assert await shared.compile(tag(ConstString("c"))) is found[0]


async def test_masks_that_take_long_are_made_in_the_background(shared):
    first = later = await shared.compile(large())
    async with asyncio.timeout(60):
        while later is first:
            await asyncio.sleep(0.05)
            later = await shared.compile(large())

    assert later.grammar.memory_size_bytes > 2 * first.grammar.memory_size_bytes
    assert (first.lazy, later.lazy) == (True, False)
    assert allowed(later) == allowed(first)


async def test_a_process_that_is_gone_is_started_again(shared):
    await shared.compile(tag(ConstString("a")))
    process = (await shared._trials.start())._process
    process.kill()
    process.wait()

    await shared.compile(tag(ConstString("d")))

    assert (await shared._trials.start())._process.pid != process.pid


async def test_others_do_not_wait_for_tags_that_take_long_and_stop_ends_those(make):
    compiler = BoundedCompiler(make, PATIENT)
    await compiler.compile(tag(ConstString("a")))
    hostile = [asyncio.create_task(compiler.compile(endless(number))) for number in (3, 4, 5)]
    for number in range(8):
        await compiler.compile(tag(ConstString(f"b{number}")))
    assert not any(task.done() for task in hostile)
    group = (await compiler._trials.start())._process.pid

    await compiler.stop()

    for ended in await asyncio.gather(*hostile, return_exceptions=True):
        assert isinstance(ended, asyncio.CancelledError)
    async with asyncio.timeout(20):
        while alive(group):  # noqa: ASYNC110  # those that were killed may be there for a moment, and tell nobody
            await asyncio.sleep(0.01)


async def test_a_socket_that_is_full_for_a_moment_is_no_failure(make, monkeypatch):
    send, tries = socket.send_fds, iter(range(9))

    def full(*arguments):
        if next(tries) < 2:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return send(*arguments)

    compiler = BoundedCompiler(make, PATIENT)
    monkeypatch.setattr(socket, "send_fds", full)
    assert (await compiler.compile(tag(ConstString("a")))).matcher()
    await compiler.stop()
    assert next(tries) == 3


DEFECTS = {
    "before it starts": "worker._limit_memory = None",
    "in a thread": "worker.grammar_compiler = None",
    "with its masks": "worker.Probe.slowest = None",
}
"""What breaks the process that compiles, and where."""


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS)
async def test_a_defect_is_no_refusal(make, monkeypatch, capfd, defect):
    broken = f"from toolglot.grammar import worker; {defect}; worker.main()"
    monkeypatch.setattr(trials, "_COMMAND", broken)
    compiler = BoundedCompiler(make, PATIENT)

    for _ in range(2):
        with pytest.raises(EngineError, match="the process that compiles grammars has failed; the server's log says"):
            await compiler.compile(tag(ConstString("a")))
    await compiler.stop()

    tracebacks = capfd.readouterr().err.count("TypeError: 'NoneType' object is not callable")
    assert tracebacks >= 2, "one for each tag at least; a trial whose other thread had begun too prints a second one"


async def test_what_the_plain_compiler_refuses_at_once(shared):
    with pytest.raises(GrammarError, match="names tokens that this model does not have"):
        await shared.compile(tag(Token(10**6)))


async def test_a_compiler_that_cannot_be_made_says_why_every_time():
    def broken(cache_bytes: int) -> Compiler:
        raise GrammarError("no such tokenizer")

    compiler = BoundedCompiler(broken)
    for _ in range(2):
        with pytest.raises(GrammarError, match="no such tokenizer"):
            await compiler.compile(tag(ConstString("a")))
    await compiler.stop()


async def test_nothing_is_said_on_stderr(shared, capfd):
    await shared.compile(tag(Or((ConstString("ab"), ConstString("ac"), AnyText(excludes=("x",))))))

    assert capfd.readouterr().err == ""


async def test_a_thread_that_has_ended_steps_back_without_a_word() -> None:
    ended = threading.Thread(target=lambda: None)
    ended.start()
    ended.join()

    step_back(ended)
