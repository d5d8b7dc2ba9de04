"""``toolglot serve`` as a user starts it, in front of two stand-ins."""

from __future__ import annotations

import asyncio
import socket
import sys

import httpx

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}


async def ready(client, process):
    for _ in range(600):
        assert process.returncode is None
        try:
            if (await client.get("/ready")).status_code == 200:
                return
        except httpx.ConnectError:
            pass
        await asyncio.sleep(0.1)
    raise AssertionError("the server did not start within a minute")


async def test_it_serves_and_survives_a_replica(stand_in, tokenizer, tmp_path):
    ones = [await stand_in("sglang", text=CALL, key="sesame", model="there") for _ in range(2)]
    tokenizer.save_pretrained(tmp_path / "here")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (tmp_path / "key").write_text("sesame")
    flags = ("--tool-call-parser", "hermes", "--enable-auto-tool-choice", "--engine-model", "there")
    urls = [word for one in ones for word in ("--engine-url", one.url)]
    command = (sys.executable, "-m", "toolglot", "serve", str(tmp_path / "here"), "--engine", "sglang", *urls, *flags)
    keys = ("--engine-api-key-file", str(tmp_path / "key"), "--port", str(port))
    process = await asyncio.create_subprocess_exec(*command, *keys, stderr=asyncio.subprocess.PIPE)
    asked = {"model": "here", "messages": [{"role": "user", "content": "Hi"}], "tools": [TOOL]}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        await ready(client, process)
        for one in ones:
            found = (await client.post("/v1/chat/completions", json=asked)).json()
            assert found["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "get_weather"
            if one is ones[0]:
                used = next(one for one in ones if one.requests[-1]["rid"] != "toolglot-probe")
                await used.server.kill()
    process.terminate()
    _, log = await process.communicate()
    assert f"engine sglang, replicas {ones[0].url} and {ones[1].url}, its name for the model there" in log.decode()
    assert f"{used.url}: the engine cannot be reached: Connection refused" in log.decode()
    assert all(one.requests[0]["rid"] == "toolglot-probe" for one in ones)
