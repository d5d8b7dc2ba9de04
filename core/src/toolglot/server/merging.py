"""Several replies at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

T = TypeVar("T")


async def merged(streams: Sequence[AsyncGenerator[T, None]]) -> AsyncGenerator[tuple[int, T | None], None]:
    """What the streams give, as it comes, with each one's number; None when one is over.

    The first failure ends it. Closing it closes all streams.
    """
    if len(streams) == 1:  # the usual case, without a task for each step
        async with aclosing(streams[0]) as stream:
            async for item in stream:
                yield 0, item
        yield 0, None
        return
    waiting = {_next(stream): number for number, stream in enumerate(streams)}
    try:
        while waiting:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(done, key=waiting.__getitem__):
                given = task.result()
                number = waiting.pop(task)
                yield number, given
                if given is not None:
                    waiting[_next(streams[number])] = number
    finally:
        await _end(waiting)
        for stream in streams:
            await stream.aclose()


async def gathered(works: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of all works, done at once. The first failure, or cancellation, ends them all."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await _end(tasks)


def _next(stream: AsyncGenerator[T, None]) -> asyncio.Future[T | None]:
    return asyncio.ensure_future(_anext(stream))


async def _anext(stream: AsyncGenerator[T, None]) -> T | None:
    return await anext(stream, None)


async def _end(tasks: Any) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
