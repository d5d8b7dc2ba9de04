"""Whether the engine is right and how fast it is on this machine's GPU, without a network: ``nox -s gpu``."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import torch

from benchmarks import gpu_checks, gpu_speed
from benchmarks.gpu_checks import Check
from benchmarks.gpu_speed import Bench, Best, Speed
from toolglot.checkpoints import demo, load_tokenizer, resolve
from toolglot.checkpoints.cache import cache_dir
from toolglot.errors import ModelError

WITHOUT_END = SimpleNamespace(eos_token_id=None)
"""The tokenizer of a model that never stops."""
CHECKS_SHARE = 0.6
"""Of the time: then the speeds are measured, whatever was not checked yet."""


class Report(msgspec.Struct):
    """All that was found."""

    machine: dict[str, str]
    best: Best | None = None
    checks: list[Check] = []
    speeds: list[Speed] = []
    left_out: list[str] = []
    """What was not done, and why."""
    seconds: float = 0.0

    def of(self, verdict: str) -> list[Check]:
        return [check for check in self.checks if check.verdict.partition(":")[0] == verdict]


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, measure, print a table and write the report. Exits with an error where a result is wrong."""
    asked = flags(arguments)
    if asked.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    elif not torch.cuda.is_available():
        sys.exit("gpu: torch sees no GPU here; --device cpu --size tiny tries the script itself")
    report, start = Report(machine(asked.device)), time.monotonic()
    check(report, asked.models, until=start + CHECKS_SHARE * asked.seconds)
    measure(report, asked, until=start + asked.seconds)
    report.seconds = time.monotonic() - start
    print(*lines(report), sep="\n")
    if asked.json:
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    wrong, right = len(report.of("wrong")), len(report.of("right"))
    if wrong or not right:
        sys.exit(f"gpu: {wrong} results are wrong, {right} are right")


def flags(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--size", choices=gpu_speed.SIZES, default="8b", help="of the model that is measured")
    parser.add_argument("--models", nargs="*", choices=[*gpu_checks.MODELS, demo.NAME], help="what is checked (all)")
    parser.add_argument("--seconds", type=float, default=280, help="what is not begun by then is left out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the report is written")
    return parser.parse_args(arguments)


def machine(device: str) -> dict[str, str]:
    """What the results depend on."""
    known = {"python": platform.python_version(), "torch": str(torch.__version__)}
    for name in ("transformers", "flash-attn", "flash-attn-4"):
        try:
            known[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            known[name] = "none"
    if device == "cpu":
        return known | {"device": "CPU"}
    major, minor = torch.cuda.get_device_capability()
    return known | {"device": f"{torch.cuda.get_device_name()} ({major}.{minor})", "cuda": str(torch.version.cuda)}


def check(report: Report, names: Sequence[str] | None, until: float) -> None:
    """Check the models, the first ones first, as long as there is time."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names or [*gpu_checks.MODELS, demo.NAME]:
            if time.monotonic() > until:
                report.left_out.append(f"{name}: no time was left to check it")
            elif name != demo.NAME:
                report.checks += told(gpu_checks.checks(name, gpu_checks.save(name, Path(folder)), WITHOUT_END))
            elif (cache_dir() / "demo" / f"{demo.NAME}.gguf").is_file():
                path = resolve(None, quiet=True).path
                report.checks += told(gpu_checks.checks(name, path, load_tokenizer(path)))
            else:
                report.left_out.append(f"{name}: it is not in the cache")


def measure(report: Report, asked: Namespace, until: float) -> None:
    """Take the speeds, as long as there is time."""
    bench = Bench(gpu_speed.SIZES[asked.size], torch.device(asked.device))
    report.best = bench.best
    parts = {f"passes with {choice}": partial(bench.passes, choice) for choice in ("flash2", "flash4", "sdpa")}
    parts |= {f"the engine, {decoding}": partial(bench.engine, decoding) for decoding in ("graphs", "eager")}
    for part, take in parts.items():
        if time.monotonic() > until:
            report.left_out.append(f"{part}: no time was left")
            continue
        try:
            report.speeds += told(take())
        except (ModelError, torch.OutOfMemoryError) as error:
            report.left_out.append(f"{part}: {error}")


def told(found: Iterator[Any]) -> Iterator[Any]:
    """The same, told as it is found: a run that is ended early was not for nothing."""
    for each in found:
        print(msgspec.json.encode(each).decode(), file=sys.stderr, flush=True)
        yield each


def lines(report: Report) -> Iterator[str]:
    """The report in Markdown."""
    yield ", ".join(f"{name} {value}" for name, value in report.machine.items())
    yield from ("", "| model | attention | decoding | verdict | near ties | difference | allowed |", f"|{'---|' * 7}")
    for check in report.checks:
        numbers = f"{check.near_ties} | {check.difference:.2g} | {check.allowed:.2g}"
        yield f"| {check.model} | {check.attention} | {check.decoding} | {check.verdict} | {numbers} |"
    if report.best is not None:
        copied, multiplied = report.best.bandwidth / 1e9, report.best.matmul / 1e12
        yield f"\nA copy moves {copied:.0f} GB/s; matrices are multiplied with {multiplied:.3g} TFLOP/s."
    yield from ("", "| what | attention | decoding | batch | ms | tok/s | of the best |", f"|{'---|' * 7}")
    for speed in report.speeds:
        share = "–" if speed.share is None else f"{speed.share:.0%}"
        numbers = f"{speed.batch} | {speed.milliseconds:.2f} | {speed.rate:.0f} | {share}"
        yield f"| {speed.what} | {speed.attention} | {speed.decoding} | {numbers} |"
    yield ""
    yield from (f"Left out: {reason}" for reason in report.left_out)
    yield f"{report.seconds:.0f} s"


if __name__ == "__main__":
    main()
