"""An engine that writes tokens at a fixed rate, as vLLM would, and notes when: ``PORT TOKENS_A_SECOND``."""

from __future__ import annotations

import asyncio
import json
import sys
import time

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n"
_MODEL = {"data": [{"id": "fixed-rate", "max_model_len": 4096}]}
_TOKEN = 66  # one byte of text, whatever it is

_sent: list[list[float]] = []
"""When each token of each reply was written."""


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _event(value: object) -> bytes:
    return _chunk(b"data: " + json.dumps(value).encode() + b"\n\n")


def _choice(token: int, finish: str | None) -> dict[str, object]:
    choice = {"index": 0, "text": "a", "logprobs": None, "finish_reason": finish, "stop_reason": None}
    return {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "fixed-rate",
        "choices": [{**choice, "token_ids": [token]}],
    }


async def _write(writer: asyncio.StreamWriter, asked: dict[str, object], interval: float) -> None:
    times: list[float] = []
    _sent.append(times)
    writer.write(_HEAD % b"text/event-stream")
    tag = (asked.get("structured_outputs") or {}).get("structural_tag")  # type: ignore[attr-defined]
    word = json.loads(tag)["format"]["value"].encode() if tag else b""
    ids = [*_ids(word)] if word else [_TOKEN] * int(str(asked["max_tokens"]))
    begun = time.monotonic()
    for number, token in enumerate(ids, 1):
        await asyncio.sleep(begun + number * interval - time.monotonic())
        times.append(time.monotonic())
        writer.write(_event(_choice(token, "length" if number == len(ids) else None)))
    writer.write(_event({"choices": [], "usage": {"prompt_tokens": 1}}) + _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    await writer.drain()


def _ids(word: bytes) -> list[int]:
    from toolglot.backends.byte_tokenizer import byte_tokenizer

    found: list[int] = byte_tokenizer(None).encode(word.decode())
    return found


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, interval: float) -> None:
    while head := await reader.readuntil(b"\r\n\r\n"):
        path = head.split(b" ", 2)[1]
        lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
        body = await reader.readexactly(int(lengths[0])) if lengths else b""
        if path == b"/v1/completions":
            await _write(writer, json.loads(body), interval)
            continue
        answer = json.dumps(_sent if path == b"/sent" else _MODEL).encode()
        if path == b"/sent":
            _sent.clear()
        writer.write(_HEAD % b"application/json" + _chunk(answer) + b"0\r\n\r\n")


async def main() -> None:
    """Serve until told to stop."""
    port, rate = int(sys.argv[1]), float(sys.argv[2])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _serve(reader, writer, 1 / rate)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
