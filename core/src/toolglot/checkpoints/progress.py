"""Progress on stderr: rich's bar on a terminal, a line at start and end elsewhere; transformers' bars feed ours."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from functools import partial
from typing import Any, Self, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

Report: TypeAlias = Callable[[float, float | None], None]
"""Called with how much is done, and of how much (None: not known)."""


@contextmanager
def progress(title: str, *, quiet: bool = False, delay: float = 0.0, lines: bool = True) -> Iterator[Report]:
    """Show on stderr how ``title`` goes on; work that ends within ``delay`` seconds shows no bar.

    ``lines`` says whether start and end are told where stderr is no terminal.
    """
    if quiet or not (sys.stderr.isatty() or lines):
        yield _ignore
    elif sys.stderr.isatty():
        with _bar(title, delay) as report:
            yield report
    else:
        started = time.monotonic()
        print(f"{title} ...", file=sys.stderr, flush=True)  # noqa: T201  # what a bar would show
        yield _ignore
        print(f"{title}: done in {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)  # noqa: T201


def _ignore(done: float, total: float | None) -> None:
    pass


@contextmanager
def _bar(title: str, delay: float) -> Iterator[Report]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True))
    task = bar.add_task(title, total=None)
    shown_from = time.monotonic() + delay

    def report(done: float, total: float | None) -> None:
        if time.monotonic() >= shown_from:
            bar.start()
        bar.update(task, completed=done, total=total)

    report(0, None)
    try:
        yield report
    finally:
        bar.stop()


@contextmanager
def quiet_transformers(report: Report = _ignore) -> Iterator[None]:
    """Keep transformers' log lines, warnings and bars off the screen; ``report`` is told what its bars would show."""
    from transformers import modeling_gguf_pytorch_utils as gguf_reader
    from transformers.utils import logging as chatter

    level = chatter.get_verbosity()
    hook = chatter.set_tqdm_hook(lambda _, args, kwargs: _Ticks(report, *args, **kwargs))
    bar = vars(gguf_reader).get("tqdm")  # the one bar that is drawn past the hook
    gguf_reader.tqdm = partial(_Ticks, report)
    chatter.set_verbosity(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        gguf_reader.tqdm = bar
        chatter.set_tqdm_hook(hook)
        chatter.set_verbosity(level)


class _Ticks:
    """What transformers uses of tqdm, without a screen."""

    def __init__(self, report: Report, iterable: Any = None, *_: Any, total: float | None = None, **__: Any) -> None:
        self._report = report
        self._items = iterable
        self._total = len(iterable) if total is None and isinstance(iterable, Sized) else total
        self._done = 0.0

    def __iter__(self) -> Iterator[Any]:
        for item in self._items or ():
            yield item
            self.update()

    def update(self, n: float = 1) -> None:
        self._done += n
        self._report(self._done, self._total)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None  # descriptions, postfixes, close: nothing to draw them on
