"""What the gateway adds: ``python -m benchmarks.gateway``.

An engine of a fixed rate notes when it wrote each token, and a client when it read it: straight from the engine, and
through the server in front of it. All three are processes of their own on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp

from toolglot.backends.byte_tokenizer import byte_tokenizer

MESSAGES = [{"role": "user", "content": "Go on."}]


def main() -> None:
    """Measure, and print what was added."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=150)
    parser.add_argument("--rate", type=float, default=50.0, help="tokens a second of each stream")
    arguments = parser.parse_args()
    engine_port, port = _free_port(), _free_port()
    engine_url, url = f"http://127.0.0.1:{engine_port}", f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        byte_tokenizer(None).save_pretrained(folder)
        script = Path(__file__).with_name("gateway_engine_script.py")
        engine = subprocess.Popen([sys.executable, str(script), str(engine_port), str(arguments.rate)])  # noqa: S603
        command = [sys.executable, "-m", "toolglot", "serve", folder, "--engine", "vllm", "--engine-url", engine_url]
        _wait(engine_port)
        gateway = subprocess.Popen(  # noqa: S603
            [*command, "--engine-model", "fixed-rate", "--port", str(port), "--log-level", "warning"]
        )
        try:
            _wait(port)
            asyncio.run(_measure(arguments, engine_url, url, gateway.pid))
        finally:
            gateway.terminate()
            engine.terminate()
            gateway.wait()
            engine.wait()


async def _measure(arguments: argparse.Namespace, engine_url: str, url: str, pid: int) -> None:
    common = {"max_tokens": arguments.tokens, "stream": True}
    direct = {"prompt": [65] * 40, "return_token_ids": True, **common}
    print(f"{arguments.streams} streams of {arguments.tokens} tokens, {arguments.rate:g} a second each; in ms:")
    async with aiohttp.ClientSession() as session:
        model = (await (await session.get(f"{url}/v1/models")).json())["data"][0]["id"]
        chat = {"model": model, "messages": MESSAGES, **common}
        straight, through = (f"{engine_url}/v1/completions", direct), (f"{url}/v1/chat/completions", chat)
        for path in (straight, through):  # to warm up
            await _run(session, arguments, *path, engine_url, spread=True)
        for spread in (True, False):
            alone = await _run(session, arguments, *straight, engine_url, spread=spread)
            before = _cpu_seconds(pid)
            added = await _run(session, arguments, *through, engine_url, spread=spread)
            used = (_cpu_seconds(pid) - before) / arguments.streams / arguments.tokens
            print(f"one after the other: {_row(added, alone)}" if spread else f"all at once: {_row(added, alone)}")
            print(f"    processor time of the gateway: {used * 1e3:.3f} a token")


def _row(added: tuple[float, float], alone: tuple[float, float]) -> str:
    first, way = (
        f"{(one - other) * 1e3:.2f} added to {other * 1e3:.2f}" for one, other in zip(added, alone, strict=True)
    )
    return f"to the first token {first}, a token's way {way}"


async def _run(
    session: aiohttp.ClientSession,
    arguments: argparse.Namespace,
    url: str,
    body: Mapping[str, Any],
    engine_url: str,
    *,
    spread: bool,
) -> tuple[float, float]:
    """The median time from sending a request to its first token, less the pause of the engine, and the mean time from
    the writing of a token to its reading, in seconds.
    """
    gap = 1 / arguments.rate / arguments.streams if spread else 0.0
    replies = await asyncio.gather(*(_reply(session, url, body, at * gap) for at in range(arguments.streams)))
    sent = await (await session.get(f"{engine_url}/sent")).json()
    times = [times for times in sent if len(times) == body["max_tokens"]]
    first = median(read[0] - asked for asked, read in replies) - 1 / arguments.rate
    read, written = ([one for some in lists for one in some] for lists in ([reads for _, reads in replies], times))
    assert len(read) == len(written)
    return first, (sum(read) - sum(written)) / len(read)  # which token is which does not matter for the mean


async def _reply(
    session: aiohttp.ClientSession, url: str, body: Mapping[str, Any], delay: float
) -> tuple[float, list[float]]:
    """When a request was sent, and when each of its tokens was read."""
    await asyncio.sleep(delay)
    asked, read = time.monotonic(), []
    async with session.post(url, json=body) as response:
        async for line in response.content:
            if b'"text":"a"' in (small := line.replace(b" ", b"")) or b'"content":"' in small:
                read += [time.monotonic()] * (small.count(b'"text":"a"') or _characters(line))
    return asked, read


def _characters(line: bytes) -> int:
    delta = json.loads(line.removeprefix(b"data: "))["choices"][0]["delta"]
    return len(delta.get("content") or "")


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _wait(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("a server did not start within a minute")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


if __name__ == "__main__":
    main()
