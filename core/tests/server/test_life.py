"""Requests that end otherwise than planned: failures, full queues, clients that leave; and many at once."""

from __future__ import annotations

import asyncio
import json
import logging
import time

import httpx
import openai
import pytest

from toolglot.errors import EngineError

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
MESSAGES = [{"role": "user", "content": "Hi"}]


def serves(served):
    served.engine.reset()
    served.engine.say("fine")
    assert served.post().json()["choices"][0]["message"]["content"] == "fine"


class TestFullQueue:
    def test_it_is_told_with_the_time_to_wait(self, served):
        served.engine.full = True
        assert served.error(429)["code"] == "queue_full"
        assert served.post(stream=True).headers["retry-after"] == "3"
        serves(served)

    def test_the_official_client_raises_its_own_error(self, served):
        served.engine.full = True
        with pytest.raises(openai.RateLimitError):
            served.chat()


class TestEngineFailure:
    def test_before_the_first_byte_it_is_a_500(self, served):
        served.engine.say("", error=EngineError("out of memory for this prompt"))
        error = served.error(500)
        assert (error["message"], error["type"]) == ("out of memory for this prompt", "server_error")
        serves(served)

    def test_in_a_stream_it_is_an_event(self, served):
        served.engine.say("Once upon", error=EngineError("the device was lost"))
        response = served.post(stream=True)
        assert response.status_code == 200
        *deltas, error, done, end = response.text.split("\n\n")
        assert len(deltas) > 2
        assert json.loads(error.removeprefix("data: "))["error"]["message"] == "the device was lost"
        assert (done, end) == ("data: [DONE]", "")
        serves(served)

    def test_the_official_client_raises_in_a_stream(self, served):
        served.engine.say("Once upon", error=EngineError("the device was lost"))
        with pytest.raises(openai.APIError, match="the device was lost"):
            list(served.chat(stream=True))

    def test_a_reply_that_the_engine_gave_up_is_an_error(self, served):
        served.engine.say("Once", finish="abort")
        assert served.post().status_code == 500
        assert '"error"' in served.post(stream=True).text

    def test_a_reply_that_never_finishes_is_an_error(self, served):
        served.engine.say("Once", finish=None)
        assert served.post().status_code == 500

    def test_what_nobody_foresaw_is_logged_and_not_told(self, served, caplog):
        served.engine.say("", error=ZeroDivisionError("secret detail"))
        with caplog.at_level(logging.ERROR, logger="toolglot.server"):
            response = served.post()
        assert response.status_code == 500
        assert response.json()["error"]["code"] == "internal_error"
        assert "secret" not in response.text
        assert "secret detail" in caplog.text
        assert "Traceback" in caplog.text
        serves(served)


class TestLeavingClients:
    def test_a_dropped_stream_frees_its_slot_at_once(self, served, weather):
        weather["function"]["strict"] = True
        served.engine.say(f"{'x' * 2000}{CALL}", delay=0.005)
        with served.http.stream(
            "POST",
            "/v1/chat/completions",
            json={"model": "scripted", "messages": MESSAGES, "stream": True, "tools": [weather]},
        ) as response:
            lines = response.iter_lines()
            assert next(lines).startswith("data: ")
            assert served.engine.running == 1
        served.wait_idle(2.0)
        assert served.engine.yielded < 1000
        serves(served)

    def test_a_dropped_whole_reply_does_too(self, served):
        served.engine.say("x" * 2000, delay=0.005)
        with pytest.raises(httpx.ReadTimeout):
            served.http.post("/v1/chat/completions", json={"model": "scripted", "messages": MESSAGES}, timeout=0.3)
        served.wait_idle(2.0)
        assert 0 < served.engine.yielded < 1000
        serves(served)

    def test_a_stream_dropped_before_its_first_token_does_too(self, served):
        served.engine.say("x", delay=30)
        body = {"model": "scripted", "messages": MESSAGES, "stream": True}
        with pytest.raises(httpx.ReadTimeout):
            served.http.post("/v1/chat/completions", json=body, timeout=0.3)
        served.wait_idle(2.0)
        serves(served)

    def test_a_client_may_leave_while_it_sends_its_body(self, served):
        host, port = served.url.removeprefix("http://").split(":")

        async def leave():
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            await writer.drain()
            await asyncio.sleep(0.05)
            writer.close()
            await writer.wait_closed()

        asyncio.run(leave())
        serves(served)


class TestSlowReaders:
    def test_a_reader_that_stands_still_holds_generation_up(self, serving):
        name = "m" * 4000  # every chunk holds it: 20 MB in all, more than sockets buffer
        served = serving(served_model_names=(name,))
        served.engine.say("x" * 5000)
        body = {"model": name, "messages": MESSAGES, "stream": True}
        with served.http.stream("POST", "/v1/chat/completions", json=body) as response:
            pieces = response.iter_raw(1024)
            next(pieces)
            seen = -1
            while seen != served.engine.yielded:
                seen = served.engine.yielded
                time.sleep(0.3)
            assert served.engine.running == 1
            assert 0 < seen < 5000
            assert b"".join(pieces).endswith(b"data: [DONE]\n\n")
        assert served.engine.yielded == 5000
        served.wait_idle()


async def test_many_streams_at_once_keep_apart(served, weather):
    texts = [f"Reply {number}: {'word ' * number}{CALL}" for number in range(40)]
    served.engine.say("unused")
    by_prompt = {str(number): text for number, text in enumerate(texts)}
    submit = served.engine.submit

    def submit_own(prompt, sampling, constraint=None):
        number = served.engine.tokenizer.decode(prompt).split("number ")[1].split("<")[0]
        served.engine.scripts = []
        served.engine.say(by_prompt[number], delay=0.001)
        return submit(prompt, sampling, constraint)

    served.engine.submit = submit_own
    try:
        async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:

            async def ask(number):
                stream = await client.chat.completions.create(
                    model="scripted",
                    messages=[{"role": "user", "content": f"number {number}"}],
                    tools=[weather],
                    stream=True,
                )
                return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

            replies = await asyncio.gather(*(ask(number) for number in range(len(texts))))
    finally:
        del served.engine.submit
    assert replies == [text.removesuffix(CALL).rstrip() for text in texts]
    served.wait_idle()
