"""What is not taken on, and what is not waited for: full and stopping servers, slow clients, other origins."""

from __future__ import annotations

import json
import socket
import threading
import time

import openai
import pytest

HI = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]}
ASK = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"


def connect(served):
    host, port = served.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def ending(connection):
    """All that comes until the server closes; a reset is an end too."""
    found = b""
    try:
        while piece := connection.recv(65536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def serves(served):
    served.engine.reset()
    served.engine.say("fine")
    assert served.post().json()["choices"][0]["message"]["content"] == "fine"


class TestReady:
    def test_a_server_that_works_is_live_and_ready(self, served):
        assert served.http.get("/health").json() == {"status": "ok"}
        assert served.http.get("/ready").json() == {"status": "ready"}

    def test_an_engine_that_died_is_told_by_both(self, served):
        served.engine.alive = False
        try:
            answers = [served.http.get(path) for path in ("/health", "/ready")]
        finally:
            served.engine.alive = True
        assert [answer.status_code for answer in answers] == [503, 503]
        assert answers[0].json() == {"status": "the engine has died"}

    def test_an_engine_that_fails_again_and_again_lives_and_is_not_ready(self, served):
        served.engine.ready = False
        try:
            answers = [served.http.get(path) for path in ("/health", "/ready")]
        finally:
            served.engine.ready = True
        assert [answer.status_code for answer in answers] == [200, 503]
        assert answers[1].json() == {"status": "the engine fails again and again"}


class TestStopping:
    @pytest.fixture
    def stopping(self, served):
        served.life.draining = True
        yield served
        served.life.draining = False

    def test_nothing_new_is_taken_on(self, stopping):
        answer = stopping.post()
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "shutting_down"
        assert answer.headers["connection"] == "close"
        assert int(answer.headers["retry-after"]) > 0

    def test_anthropics_clients_are_told_in_their_way(self, stopping):
        answer = stopping.http.post("/v1/messages", json={})
        assert (answer.status_code, answer.json()["error"]["type"]) == (503, "overloaded_error")

    def test_it_is_live_and_not_ready(self, stopping):
        assert stopping.http.get("/health").status_code == 200
        assert (stopping.http.get("/ready").status_code, stopping.http.get("/ready").json()["status"]) == (
            503,
            "stopping",
        )
        assert stopping.http.get("/metrics").status_code == 200

    def test_what_runs_goes_on(self, served):
        served.engine.say("one two three", delay=0.01)
        with served.http.stream("POST", "/v1/chat/completions", json={**HI, "stream": True}) as response:
            lines = response.iter_lines()
            next(lines)
            served.life.draining = True
            try:
                assert served.post().status_code == 503
                assert [line for line in lines if line][-1] == "data: [DONE]"
            finally:
                served.life.draining = False


class TestManyAtOnce:
    def test_more_than_may_are_refused_at_once(self, serving):
        served = serving(max_requests=2)
        served.engine.say("x" * 500, delay=0.01)
        with (
            served.http.stream("POST", "/v1/chat/completions", json={**HI, "stream": True}),
            served.http.stream("POST", "/v1/chat/completions", json={**HI, "stream": True}),
        ):
            assert served.post().status_code == 429
            with pytest.raises(openai.RateLimitError):
                served.chat()
            assert served.http.get("/health").status_code == 200
        served.wait_idle()
        serves(served)

    def test_a_thousand_half_open_requests_cost_nobody_else(self, serving):
        served = serving(max_requests=4000)
        connections = [connect(served) for _ in range(400)]
        try:
            for connection in connections:
                connection.sendall(HEAD + b"{")
            serves(served)
        finally:
            for connection in connections:
                connection.close()
        serves(served)
        end = time.monotonic() + 5
        while served.life.active and time.monotonic() < end:
            time.sleep(0.01)
        assert served.life.active == 0


class TestSlowClients:
    @pytest.fixture
    def impatient(self, serving):
        return serving(client_timeout=1)

    def test_a_body_that_does_not_come_is_a_408(self, impatient):
        with connect(impatient) as connection:
            connection.sendall(HEAD + b"{")
            answer = ending(connection)
        head, body = answer.split(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert json.loads(body)["error"]["code"] == "body_timeout"

    def test_so_is_one_that_comes_drop_by_drop(self, impatient):
        with connect(impatient) as connection:
            connection.sendall(HEAD)
            threading.Thread(target=drip, args=(connection, b"{" + b" " * 900), daemon=True).start()
            begun = time.monotonic()
            assert ending(connection).startswith(b"HTTP/1.1 408 ")
        assert 0.9 < time.monotonic() - begun < 3

    @pytest.mark.parametrize("begun", [b"", b"POST /v1/chat/compl", b"GET / HTTP/1.1\r\nX: "])
    def test_a_request_without_an_end_is_cut(self, impatient, begun):
        with connect(impatient) as connection:
            connection.sendall(begun)
            assert ending(connection) == b""

    def test_headers_that_come_drop_by_drop_are_cut_after_a_first_request_too(self, impatient):
        with connect(impatient) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            threading.Thread(target=drip, args=(connection, b"GET / HTTP/1.1\r\nX: " + b"y" * 900), daemon=True).start()
            begun = time.monotonic()
            assert ending(connection).startswith(b"HTTP/1.1 200 ")
        assert 0.9 < time.monotonic() - begun < 3

    def test_a_reader_that_stands_still_is_cut(self, serving):
        name = "m" * 4000  # every chunk holds it: 20 MB in all, more than sockets buffer
        served = serving(served_model_names=(name,), client_timeout=1)
        served.engine.say("x" * 5000)
        body = json.dumps({**HI, "model": name, "stream": True}).encode()
        with connect(served) as connection:
            connection.sendall(HEAD.replace(b"1000", str(len(body)).encode()) + body)
            connection.recv(1000)
            served.wait_idle(10)
            assert 0 < served.engine.yielded < 5000
            assert b"[DONE]" not in ending(connection)

    def test_a_reader_that_is_slow_is_not(self, serving):
        name = "m" * 4000
        served = serving(served_model_names=(name,), client_timeout=1)
        served.engine.say("x" * 5000)
        with served.http.stream("POST", "/v1/chat/completions", json={**HI, "model": name, "stream": True}) as response:
            begun, found = time.monotonic(), b""
            for piece in response.iter_raw(1024 * 1024):
                found = piece
                time.sleep(0.08)
        assert time.monotonic() - begun > 1
        assert found.endswith(b"data: [DONE]\n\n")

    def test_one_that_waits_for_its_answer_is_not_slow(self, impatient):
        impatient.engine.say("xx", delay=0.7)
        assert impatient.post().status_code == 200


def drip(connection, data):
    try:
        for place in range(len(data)):
            connection.sendall(data[place : place + 1])
            time.sleep(0.05)
    except OSError:
        pass  # the server has enough


class TestOrigins:
    def test_none_is_allowed_unless_told(self, served):
        answer = served.http.get("/v1/models", headers={"Origin": "https://a.example"})
        assert not any(name.startswith("access-control") for name in answer.headers)
        assert served.http.options("/v1/chat/completions", headers=ASK).status_code == 405

    def test_one_that_is_allowed_may_ask_without_a_key_and_then_use_it(self, serving):
        served = serving(allowed_origins=("https://a.example",), api_keys=("sesame",))
        asked = served.http.options("/v1/chat/completions", headers={**ASK, "Authorization": ""})
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == "https://a.example"
        answer = served.http.get("/v1/models", headers={"Origin": "https://a.example"})
        assert answer.headers["access-control-allow-origin"] == "https://a.example"
        refused = served.http.get("/v1/models", headers={"Origin": "https://a.example", "Authorization": ""})
        assert (refused.status_code, "access-control-allow-origin" in refused.headers) == (401, True)

    @pytest.mark.parametrize(("path", "name"), [("/v1/messages", "request-id"), ("/v1/responses", "x-request-id")])
    def test_its_pages_may_read_what_the_official_clients_read(self, serving, path, name):
        served = serving(allowed_origins=("https://a.example",), api_keys=("sesame",))
        served.engine.full = True
        body = {**HI, "max_tokens": 5} if path == "/v1/messages" else {"model": "scripted", "input": "Hi"}
        answer = served.http.post(path, json=body, headers={"Origin": "https://a.example"})
        exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
        assert {name, "retry-after"} <= answer.headers.keys() & set(exposed)

    def test_another_is_not(self, serving):
        served = serving(allowed_origins=("https://a.example",), api_keys=("sesame",))
        answer = served.http.get("/v1/models", headers={"Origin": "https://b.example"})
        assert "access-control-allow-origin" not in answer.headers
