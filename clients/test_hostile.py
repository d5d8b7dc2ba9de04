"""Clients that mean no good, or are broken: each gets an error or is cut, and the server goes on answering others."""

from __future__ import annotations

import gzip
import json
import select
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest

from clients import weather
from clients.bodies import GOOD, changed, places, spoiled
from clients.bystander import bystander
from clients.raw import connected, head, post, read_status, status
from clients.serving import MODEL, PATIENCE, Served, serving

MIB = 2**20
SHORT = 5
"""How many seconds a server waits for its clients that does not wait long."""
HALF_OPEN = 1000
AT_ONCE = 200
"""How many prompts may be sent at once without a 429 for some."""
CHATS = "/v1/chat/completions"
BIG = {"/v1/chat/completions": "messages", "/v1/responses": "input", "/v1/messages": "messages"}
"""Where each API takes a long list."""


@pytest.fixture(scope="module")
def victim() -> Iterator[Served]:
    """A server that lives to the end of this module, and never fails within."""
    with lasting() as served:
        yield served


@pytest.fixture(scope="module")
def impatient() -> Iterator[Served]:
    """The same with clients that must not be slow."""
    with lasting("--client-timeout", str(SHORT)) as served:
        yield served


@contextmanager
def lasting(*flags: str) -> Iterator[Served]:
    call = weather.written("hermes", {"name": "get_weather", "arguments": {"city": "Oslo"}})
    outputs = [
        {"match": "slowly", "output": "word " * 2000, "chunks": 5, "delay": 1},
        {"output": f"Hello. {call}", "chunks": 3, "unchecked": True},
    ]
    with serving(outputs, "hermes", "--max-num-seqs", "2000", "--max-requests", "3000", *flags) as served:
        yield served
        assert served.wait_idle() == 0
        assert served.process.poll() is None
        assert "Traceback" not in served.log
        assert " ERROR " not in served.log


class TestBodies:
    @pytest.mark.parametrize("path", GOOD)
    def test_a_good_one_is_answered(self, victim: Served, path: str) -> None:
        assert httpx.post(victim.url + path, json=GOOD[path], timeout=PATIENCE).status_code == 200

    @pytest.mark.parametrize("path", GOOD)
    def test_an_odd_value_anywhere_is_no_error_of_the_server_s(self, victim: Served, path: str) -> None:
        """Every second request is for a stream, where the API has any."""
        with httpx.Client(base_url=victim.url, timeout=PATIENCE) as client:
            for number, (what, body) in enumerate(spoiled(GOOD[path])):
                if body.get("stream") is False:
                    body["stream"] = bool(number % 2)
                answer = client.post(path, content=json.dumps(body).encode())
                assert answer.status_code < 500, f"{what}: {answer.text}"
                assert "server_error" not in answer.text, f"{what}: {answer.text}"
                assert "api_error" not in answer.text, f"{what}: {answer.text}"

    @pytest.mark.parametrize("path", GOOD)
    @pytest.mark.parametrize(
        ("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('{"properties":{"a":', "}}"), ("[", ""), ('{"a":', "")]
    )
    def test_deep_json_is_refused(self, victim: Served, path: str, opening: str, closing: str) -> None:
        for depth in (500, 200_000):
            deep = opening * depth + "1" + closing * depth
            for place in GOOD[path]:
                body = json.dumps(changed(GOOD[path], (place,), "DEEP")).replace('"DEEP"', deep).encode()
                assert status(victim, post(path, body)) in (400, 413)

    @pytest.mark.parametrize("path", GOOD)
    @pytest.mark.parametrize(
        "number", ["9" * 5000, "-" + "9" * 5000, "1e99999", "-1e99999", "1e-99999", "NaN", "Infinity"]
    )
    def test_huge_numbers_are_no_error_of_the_server_s(self, victim: Served, path: str, number: str) -> None:
        for place in places(GOOD[path]):
            body = json.dumps(changed(GOOD[path], place, "HUGE")).replace('"HUGE"', number).encode()
            assert status(victim, post(path, body)) in (200, 400, 404)

    @pytest.mark.parametrize("path", GOOD)
    @pytest.mark.parametrize(
        "wrong", [b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\0", b"\n"]
    )
    def test_text_that_is_no_utf_8_or_no_json_is_refused(self, victim: Served, path: str, wrong: bytes) -> None:
        whole = json.dumps(GOOD[path]).encode()
        assert status(victim, post(path, whole.replace(b"Hi", b"Hi" + wrong))) == (400 if b"Hi" in whole else 200)
        assert status(victim, post(path, wrong + whole)) == (200 if wrong == b"\n" else 400)

    @pytest.mark.parametrize("path", GOOD)
    @pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
    def test_other_encodings_are_refused(self, victim: Served, path: str, encoding: str) -> None:
        assert status(victim, post(path, json.dumps(GOOD[path]).encode(encoding))) == 400

    @pytest.mark.parametrize("path", GOOD)
    def test_a_lone_surrogate_is_no_error_of_the_server_s(self, victim: Served, path: str) -> None:
        for place in places(GOOD[path]):
            for text in ("\ud800", "\udfff", "a\udc00\ud800b"):
                assert status(victim, post(path, changed(GOOD[path], place, text))) in (200, 400, 404)


class TestSizes:
    @pytest.mark.parametrize("path", GOOD)
    def test_ten_megabytes_are_too_much(self, victim: Served, path: str) -> None:
        chunk = b"%x\r\n%b\r\n" % (MIB, b" " * MIB)
        with bystander(victim):
            assert status(victim, head(path, 10 * MIB), *[b" " * MIB] * 10) == 413
            assert status(victim, head(path, None, "Transfer-Encoding: chunked"), *[chunk] * 10, b"0\r\n\r\n") == 413

    @pytest.mark.parametrize("path", BIG)
    @pytest.mark.parametrize(
        "item", ["0", "[]", "{}", '""', '{"role":"user","content":"x"}', '{"role":"user","content":[{"type":"text"}]}']
    )
    def test_seven_megabytes_of_small_things_hold_nobody_up(self, victim: Served, path: str, item: str) -> None:
        many = ",".join([item] * (7 * MIB // (len(item) + 1)))
        body = json.dumps(changed(GOOD[path], (BIG[path],), "MANY")).replace('"MANY"', f"[{many}]").encode()
        with bystander(victim):
            assert status(victim, post(path, body)) == 400

    @pytest.mark.parametrize("text", ["x", "<tool_call>", "\N{SNOWMAN}", "\\", " "])
    def test_seven_megabytes_of_text_hold_nobody_up(self, victim: Served, text: str) -> None:
        content = text * (7 * MIB // len(json.dumps(text)[1:-1]))
        body = {"model": MODEL, "messages": [{"role": "user", "content": content}]}
        with bystander(victim):
            assert status(victim, post(CHATS, body)) == 400

    def test_what_is_packed_is_not_unpacked(self, victim: Served) -> None:
        bomb = gzip.compress(b" " * 100 * MIB)
        with bystander(victim):
            assert status(victim, head(CHATS, len(bomb), "Content-Encoding: gzip") + bomb) == 400


class TestSlowness:
    def test_a_body_that_comes_drop_by_drop_is_given_up(self, impatient: Served) -> None:
        with bystander(impatient), connected(impatient, 200) as connections:
            for connection in connections:
                connection.sendall(head(CHATS, 1_000_000) + b"{")
            end = time.monotonic() + PATIENCE
            while not select.select(connections, [], [], 0.2)[0]:
                assert time.monotonic() < end, "each drop gives it more time"
                for connection in connections:
                    with suppress(ConnectionError):  # it may have been given up just now
                        connection.sendall(b" ")
            assert {read_status(connection) for connection in connections} == {408}

    def test_so_are_headers(self, impatient: Served) -> None:
        with bystander(impatient), connected(impatient, 200) as connections:
            for connection in connections:
                connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            assert {read_status(connection) for connection in connections} == {0}

    def test_a_thousand_half_open_streams_leave_no_work(self, victim: Served) -> None:
        """Half of them are closed in good order, the others reset."""
        asked = {"model": MODEL, "messages": [{"role": "user", "content": "slowly"}], "stream": True}
        with bystander(victim), ExitStack() as stack:
            connections: list[socket.socket] = []
            while len(connections) < HALF_OPEN:
                some = stack.enter_context(connected(victim, AT_ONCE))
                for connection in some:
                    connection.sendall(post(CHATS, asked))
                assert {read_status(connection) for connection in some} == {200}
                connections += some
            assert victim.metric("toolglot_replies_running") >= HALF_OPEN
            for connection in connections[::2]:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert victim.wait_idle() == 0

    def test_a_thousand_that_never_ask_are_cut(self, impatient: Served) -> None:
        with bystander(impatient), connected(impatient, HALF_OPEN) as connections:
            assert {read_status(connection) for connection in connections} == {0}


HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
GET = b"GET /health HTTP/1.1\r\nHost: x\r\n"
BODY = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}).encode()
BAD_HEADS = {
    "one line of a megabyte": GET + b"X: " + b"x" * MIB + b"\r\n\r\n",
    "a hundred thousand lines": GET + b"X: y\r\n" * 100_000 + b"\r\n",
    "a target of a megabyte": b"GET /" + b"x" * MIB + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "NUL in a value": GET + b"X: a\0b\r\n\r\n",
    "a name with a space": GET + b"X Y: z\r\n\r\n",
    "no colon": GET + b"XY\r\n\r\n",
    "a name of no letters": GET + b": z\r\n\r\n",
    "a lone line feed": b"GET /health HTTP/1.1\nHost: x\nX: y\n z\n\n"[:30],
    "a TLS client": HELLO,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no version": b"GET /health\r\n\r\n",
    "no words": b"\r\n\r\n \r\n\r\n",
    "bytes": bytes(range(256)) * 10 + b"\r\n\r\n",
    "no host": b"GET /health HTTP/1.1\r\n\r\n",
    "two lengths": head(CHATS, 5, "Content-Length: 500") + BODY,
    "a negative length": head(CHATS, -1) + BODY,
    "a length that is none": head(CHATS, None, "Content-Length: 0x10") + BODY,
    "a length without end": head(CHATS, None, "Content-Length: " + "9" * 5000) + BODY,
    "a length and chunks": head(CHATS, 5, "Transfer-Encoding: gzip, chunked") + BODY,
    "chunks of no size": head(CHATS, None, "Transfer-Encoding: chunked") + b"zz\r\nhello\r\n0\r\n\r\n",
    "a chunk of every size": head(CHATS, None, "Transfer-Encoding: chunked") + b"f" * 100 + b"\r\n" + BODY,
}
ODD_HEADERS = {
    "Authorization": "Bearer \xff\xfe",
    "X-Api-Key": "\xe9" * 1000,
    "X-Request-Id": "\xff; drop table" + "x" * 10_000,
    "Content-Type": "text/html; charset=\xff",
    "Content-Encoding": "br",
    "Accept": "text/nothing",
    "Accept-Encoding": "gzip;q=\xff",
    "Anthropic-Version": "\xff" * 100,
    "Anthropic-Beta": "x," * 10_000,
    "OpenAI-Organization": "\xff",
    "Host": "[::1",
    "Origin": "null",
    "Connection": "Upgrade, HTTP2-Settings",
    "Upgrade": "websocket",
    "Expect": "200-nothing",
    "Range": "bytes=0-",
    "X-Forwarded-For": "\xff" * 100,
    "Cookie": "a=" + "b" * 10_000,
}


class TestHeaders:
    @pytest.mark.parametrize("what", BAD_HEADS)
    def test_what_is_no_http_is_refused_or_cut(self, impatient: Served, what: str) -> None:
        with bystander(impatient):
            assert status(impatient, BAD_HEADS[what]) in (0, 400, 404, 413, 431)

    @pytest.mark.parametrize("path", BIG)
    @pytest.mark.parametrize("name", ODD_HEADERS)
    def test_odd_headers_are_no_error_of_the_server_s(self, victim: Served, path: str, name: str) -> None:
        content = json.dumps(GOOD[path]).encode()
        request = head(path, len(content), f"{name}: {ODD_HEADERS[name]}") + content
        if name == "Host":
            request = request.replace(b"Host: x\r\n", b"")
        assert status(victim, request) in (200, 400)

    @pytest.mark.parametrize("name", ["Authorization", "X-Api-Key", "X-Request-Id", "Cookie", "X"])
    def test_many_of_one_are_no_error_of_the_server_s(self, victim: Served, name: str) -> None:
        request = head(CHATS, len(BODY), *[f"{name}: {number}" for number in range(1000)]) + BODY
        assert status(victim, request) in (200, 400, 431)

    @pytest.mark.parametrize(
        "target",
        [
            "/v1/models/%00",
            "/v1/models/%ff%fe",
            "/v1/responses/..%2f..%2f",
            "//",
            "/%",
            "*",
            "/v1/models/" + "a/" * 1000,
            "http://other/health",
            "/v1/responses/x/input_items?limit=" + "9" * 5000,
            "/v1/responses/x/input_items?limit=%ff&order=%00&after=",
        ],
    )
    def test_odd_targets_are_no_error_of_the_server_s(self, victim: Served, target: str) -> None:
        for method in ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "ODD"):
            request = f"{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode()
            assert status(victim, request) in (0, 200, 400, 404, 405)

    def test_one_hundred_requests_in_one_go(self, victim: Served) -> None:
        with bystander(victim):
            assert status(victim, post(CHATS, BODY) * 100) == 200


def test_a_wrong_key_of_any_bytes_is_refused() -> None:
    with serving([{"output": "Hi"}], "hermes", "--api-key", "sesame") as served:
        for path in GOOD:
            for value in ("Bearer \xff", "Bearer ", "Bearer", "Basic x", "x" * 10_000, "Bearer s\xe9same"):
                content = json.dumps(GOOD[path]).encode()
                assert status(served, head(path, len(content), f"Authorization: {value}") + content) in (400, 401)
        assert "Traceback" not in served.log
