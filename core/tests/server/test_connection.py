"""What comes on a connection and is no HTTP."""

from __future__ import annotations

import json
import logging
import re
import socket
import time

import pytest

from toolglot.server.logs import JsonFormatter

POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def sent(served, *parts):
    """All that comes back until the server closes the connection."""
    host, port = served.url.removeprefix("http://").split(":")
    found = b""
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(0.05)
        while piece := connection.recv(65536):
            found += piece
    return found


def read(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(status.split()[1]), headers, body


@pytest.mark.parametrize(
    "request_",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /health HTTP/1.1\r\nHo st: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/one\r\nHost: x\r\n\r\n",
        POST + b"Content-Length: many\r\n\r\n",
        POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        POST + b"Transfer-Encoding: gzip\r\n\r\n",
        POST + b"X: " + b"x" * 70_000,
        CHUNKED + b"zz\r\n",
    ],
    ids=lambda request: ascii(request[-20:]),
)
def test_it_is_told_like_any_other_error(served, request_):
    status, headers, body = read(sent(served, request_))
    assert (status, headers["content-type"], headers["connection"]) == (400, "application/json", "close")
    assert int(headers["content-length"]) == len(body)
    assert re.fullmatch(r"req_[0-9a-f]{32}", headers["x-request-id"])
    error = json.loads(body)["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("invalid_request_error", "invalid_http")
    assert served.http.get("/health").status_code == 200


def test_the_log_says_which_it_was(served, caplog):
    with caplog.at_level(logging.INFO, logger="toolglot.requests"):
        _, headers, _ = read(sent(served, b"nonsense\r\n\r\n"))
    lines = [json.loads(JsonFormatter().format(one)) for one in caplog.records if one.name == "toolglot.requests"]
    assert {"request_id": headers["x-request-id"], "route": "none", "status": 400}.items() <= lines[-1].items()


@pytest.mark.parametrize("end", [b"zz\r\n", b"0\r\n\r\nnonsense\r\n\r\n"])
def test_after_an_answer_there_is_no_other(serving, end, caplog):
    """A body that breaks off its form when the request is refused already."""
    locked = serving(api_keys=("sesame", "open"))
    with caplog.at_level(logging.ERROR):
        answer = sent(locked, CHUNKED, end)
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert [one.getMessage() for one in caplog.records if one.name in ("asyncio", "uvicorn.error")] == []
