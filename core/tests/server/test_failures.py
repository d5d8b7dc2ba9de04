"""What nobody foresaw, on any route: a 500 in the form of its API, with the request's id, and a line in the log."""

from __future__ import annotations

import json
import logging

import anthropic
import openai
import pytest

from toolglot.server import openapi, status
from toolglot.server.admission import Admission
from toolglot.server.logs import JsonFormatter
from toolglot.server.models import ServedModels
from toolglot.server.responses.store import ResponseStore
from toolglot.server.traffic import Traffic

ORIGIN = "https://a.example"
VERSION = {"anthropic-version": "2023-06-01"}


class UnforeseenError(Exception):
    """What a route runs into."""


def fail(*_, **__):
    raise UnforeseenError("secret detail")


@pytest.fixture
def failing(serving, monkeypatch):
    """A server of which all that the small routes ask fails."""
    served = serving(served_model_names=("scripted", "failing"), allowed_origins=(ORIGIN,))
    monkeypatch.setattr(type(served.engine), "alive", property(fail))
    monkeypatch.setattr(Traffic, "exposition", fail)
    monkeypatch.setattr(ServedModels, "list", fail)
    monkeypatch.setattr(ServedModels, "check", fail)
    monkeypatch.setattr(ResponseStore, "get", fail)
    monkeypatch.setattr(status, "version", fail)
    monkeypatch.setattr(openapi, "document", fail)
    return served


SMALL = ("/health", "/ready", "/metrics", "/version", "/openapi.json", "/v1/models", "/v1/models/x", "/v1/responses/x")


@pytest.mark.parametrize("path", SMALL)
def test_it_is_told_with_an_id_and_without_its_inside(failing, path, caplog):
    with caplog.at_level(logging.DEBUG):
        answer = failing.http.get(path, headers={"Origin": ORIGIN})
        assert failing.http.get("/nowhere").status_code == 404  # by then the line is written
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert answer.json()["error"].keys() == {"message", "type", "param", "code"}
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "secret" not in answer.text
    assert "secret detail" in caplog.text
    lines = [json.loads(JsonFormatter().format(one)) for one in caplog.records if one.name == "toolglot.requests"]
    assert [line["status"] for line in lines if line["route"] != "none"] == [500]
    assert answer.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/x"])
def test_anthropics_clients_have_their_form(failing, path):
    answer = failing.http.get(path, headers=VERSION)
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "api_error")
    assert answer.json()["request_id"] == answer.headers["request-id"] == answer.headers["x-request-id"]


def test_the_official_clients_raise_their_own_errors(failing):
    with pytest.raises(openai.InternalServerError) as caught:
        failing.client.models.list()
    assert caught.value.request_id.startswith("req_")
    with (
        anthropic.Anthropic(base_url=failing.url, api_key="none", max_retries=0) as client,
        pytest.raises(anthropic.InternalServerError) as refused,
    ):
        client.models.list()
    assert refused.value.request_id.startswith("req_")


def test_what_comes_before_the_routes_may_fail_too(served, monkeypatch):
    monkeypatch.setattr(Admission, "_refusal", fail)
    answer = served.http.post("/v1/messages", json={})
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "api_error")
    assert answer.json()["request_id"] == answer.headers["request-id"]
