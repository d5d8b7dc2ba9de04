"""Request ids, and what the log says of a request."""

from __future__ import annotations

import contextvars
import io
import json
import logging
import re
import time

import pytest

from toolglot.server import record
from toolglot.server.logs import JsonFormatter, TextFormatter, stderr_handler

SECRET = "the harbour at dawn"
HI = {"model": "scripted", "messages": [{"role": "user", "content": SECRET}]}


@pytest.fixture
def lines(caplog):
    """What the requests' logger says, formatted: a line is written before the client has all of its answer."""
    handler = caplog.handler
    time.sleep(0.1)  # requests whose clients left, in earlier tests, write theirs
    with caplog.at_level(logging.INFO, logger="toolglot.requests"):

        def get(formatter):
            return [formatter.format(one) for one in handler.records if one.name == "toolglot.requests"]

        yield get


class TestIds:
    def test_every_answer_has_one(self, served):
        served.engine.say("Hi")
        answers = [served.post(), served.post(b"{"), served.http.get("/health"), served.http.get("/nowhere")]
        ids = [answer.headers["x-request-id"] for answer in answers]
        assert len(set(ids)) == 4
        assert all(re.fullmatch(r"req_[0-9a-f]{32}", one) for one in ids)

    def test_the_clients_own_is_kept(self, served):
        assert served.http.get("/health", headers={"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"

    @pytest.mark.parametrize("value", ["", "a b", "x" * 129, "\xe9"])
    def test_one_that_does_not_belong_in_a_log_is_not(self, served, value):
        answer = served.http.get("/health", headers={"X-Request-Id": value.encode("latin-1")})
        assert answer.headers["x-request-id"].startswith("req_")

    def test_the_official_client_shows_it(self, served):
        served.engine.say("Hi")
        assert served.chat()._request_id.startswith("req_")


class TestLines:
    def test_a_request_is_one_line_with_its_tokens_and_times(self, served, lines):
        served.engine.say("four", delay=0.001)
        answer = served.post()
        (line,) = lines(JsonFormatter())
        said = json.loads(line)
        assert (said["message"], said["level"], said["status"]) == ("request", "info", 200)
        assert (said["method"], said["route"]) == ("POST", "/v1/chat/completions")
        assert said["prompt_tokens"] == answer.json()["usage"]["prompt_tokens"]
        assert said["completion_tokens"] == 4
        assert 0 < said["first_token_seconds"] < said["seconds"] < 5
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", said["time"])

    def test_no_text_of_it_is_in_the_log(self, served, caplog):
        served.engine.say(SECRET.upper())
        with caplog.at_level(logging.DEBUG):
            served.post(json.dumps(HI).encode())
            served.post(json.dumps({**HI, "stream": True}).encode())
        said = " ".join(JsonFormatter().format(one) for one in caplog.records if one.name.startswith("toolglot"))
        assert SECRET.upper() not in said
        assert SECRET not in said

    def test_unless_asked_for(self, serving, lines):
        served = serving(log_prompts=True)
        served.engine.say("Hi")
        served.post(json.dumps(HI).encode())
        (line,) = lines(JsonFormatter())
        assert SECRET in json.loads(line)["body"]

    def test_a_client_that_left_is_a_499(self, served, lines):
        served.engine.say("x" * 500, delay=0.01)
        with served.http.stream("POST", "/v1/chat/completions", json={**HI, "stream": True}) as response:
            next(response.iter_lines())
        served.wait_idle()
        (line,) = lines(JsonFormatter())
        assert json.loads(line)["status"] == 200  # what it was told before it left

    def test_text_is_for_people(self, served, lines):
        served.engine.say("Hi")
        served.post()
        (line,) = lines(TextFormatter())
        assert "INFO request" in line
        assert " method=POST route=/v1/chat/completions status=200 seconds=" in line


class TestFormats:
    @pytest.fixture
    def log(self):
        logger, handler, written = logging.Logger("mine"), stderr_handler("json"), io.StringIO()
        handler.setStream(written)
        logger.addHandler(handler)
        logger.said = lambda: [json.loads(line) for line in written.getvalue().splitlines()]
        return logger

    def test_every_line_is_an_object(self, log):
        log.info("one %s", "thing")
        log.error("another\nthing", exc_info=ValueError("reason"))
        one, other = log.said()
        assert (one["message"], one["level"], one["logger"], "exception" in one) == ("one thing", "info", "mine", False)
        assert other["message"] == "another\nthing"
        assert "ValueError: reason" in other["exception"]

    def test_what_is_logged_in_a_request_has_its_id(self, log):
        log.info("outside")
        contextvars.copy_context().run(lambda: (record.begin(b"mine"), log.info("in it")))
        outside, inside = log.said()
        assert "request_id" not in outside
        assert inside["request_id"] == "mine"
