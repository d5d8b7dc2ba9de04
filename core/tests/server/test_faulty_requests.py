"""Every route of the three APIs with every fault that a request can have as HTTP: what the official clients raise."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, NamedTuple

import anthropic
import openai
import pytest

MODEL = "scripted"
HI = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
KEY = "sesame"
MOST = 2000
"""The server's limit on a body, in bytes."""


def http_library(client: type) -> Any:
    """The HTTP library that an official client is written for: httpx, or one of its forks."""
    return importlib.import_module(client.__mro__[-2].__module__.partition(".")[0])


HTTP = {
    openai.OpenAI: http_library(openai.DefaultHttpxClient),
    anthropic.Anthropic: http_library(anthropic.DefaultHttpxClient),
}


class Fault(NamedTuple):
    """What is wrong with a request, and what its answer is."""

    status: int
    openai: type[openai.APIStatusError]
    anthropic: type[anthropic.APIStatusError]
    kind: str
    """The error's type in the body of Anthropic's API."""
    method: str | None = None
    body: bytes | None = None
    key: str | None = KEY
    headers: dict[str, str] = {}  # noqa: RUF012  it is never changed


def bad(body: bytes) -> Fault:
    return Fault(400, openai.BadRequestError, anthropic.BadRequestError, "invalid_request_error", body=body)


def locked(key: str | None) -> Fault:
    return Fault(401, openai.AuthenticationError, anthropic.AuthenticationError, "authentication_error", key=key)


METHOD = Fault(405, openai.APIStatusError, anthropic.APIStatusError, "invalid_request_error", method="PUT")
KEYS = {"a wrong key": locked("wrong"), "an empty key": locked(""), "no key": locked(None)}
BODIES = {
    "an empty body": bad(b""),
    "a list": bad(b"[]"),
    "null": bad(b"null"),
    "text": bad(b'"Hi"'),
    "an empty object": bad(b"{}"),
    "no JSON": bad(b"model=scripted"),
    "invalid UTF-8": bad(b'{"model": "\xff"}'),
    "a byte order mark": bad(b"\xef\xbb\xbf{}"),
    "another encoding": bad('{"model": "scripted"}'.encode("utf-16")),
    "compressed": bad(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00C\xbf\xa6\xa3\x02\x00\x00\x00"),
    "much": Fault(
        413, openai.APIStatusError, anthropic.RequestTooLargeError, "request_too_large", body=b" " * (MOST + 1)
    ),
}
OPENAI: dict[str, Callable[[openai.OpenAI], Any]] = {
    "chat/completions": lambda client: client.chat.completions.create(**HI),
    "completions": lambda client: client.completions.create(model=MODEL, prompt="Hi"),
    "responses": lambda client: client.responses.create(model=MODEL, input="Hi"),
    "responses/input_tokens": lambda client: client.responses.input_tokens.count(model=MODEL, input="Hi"),
}
OPENAI_WITHOUT_BODY: dict[str, Callable[[openai.OpenAI], Any]] = {
    "models": lambda client: client.models.list(),
    "models/x": lambda client: client.models.retrieve("x"),
    "responses/x": lambda client: client.responses.retrieve("x"),
    "responses/x delete": lambda client: client.responses.delete("x"),
    "responses/x/cancel": lambda client: client.responses.cancel("x"),
    "responses/x/input_items": lambda client: client.responses.input_items.list("x"),
}
ANTHROPIC: dict[str, Callable[[anthropic.Anthropic], Any]] = {
    "messages": lambda client: client.messages.create(**HI, max_tokens=5),
    "messages/count_tokens": lambda client: client.messages.count_tokens(**HI),
}
ANTHROPIC_WITHOUT_BODY: dict[str, Callable[[anthropic.Anthropic], Any]] = {
    "models": lambda client: client.models.list(),
    "models/x": lambda client: client.models.retrieve("x"),
}


def spoiling(http: Any, fault: Fault) -> Any:
    """A client of that HTTP library that puts the fault into its requests."""

    class Spoiling(http.BaseTransport):
        def __init__(self) -> None:
            self._inner = http.HTTPTransport()

        def handle_request(self, request: Any) -> Any:
            kept = ("accept", "anthropic-version", "content-type")
            headers = {name: value for name, value in request.headers.items() if name in kept}
            if fault.key is not None:
                headers |= key_header(request, fault.key)
            body = request.read() if fault.body is None else fault.body
            method = fault.method or request.method
            spoilt = http.Request(method, request.url, headers={**headers, **fault.headers}, content=body)
            return self._inner.handle_request(spoilt)

        def close(self) -> None:
            self._inner.close()

    return http.Client(transport=Spoiling())


def key_header(request: Any, key: str) -> dict[str, str]:
    """The key, in the header in which the client sends its own."""
    return {"x-api-key": key} if "x-api-key" in request.headers else {"authorization": f"Bearer {key}".strip()}


@pytest.fixture(scope="module")
def clients(serving):
    """``clients(kind, fault)``: one of the official clients, whose requests have that fault."""

    @contextmanager
    def spoilt(kind, fault):
        served = serving(api_keys=(KEY,), max_body_bytes=MOST)
        served.engine.say("Hi")
        base = f"{served.url}/v1" if kind is openai.OpenAI else served.url
        with spoiling(HTTP[kind], fault) as client:
            yield kind(base_url=base, api_key="any", max_retries=0, http_client=client)

    return spoilt


def product(*tables):
    """Each call with each fault, by their names."""
    return [
        pytest.param(call, fault, id=f"{route}: {name}")
        for calls, faults in tables
        for route, call in calls.items()
        for name, fault in faults.items()
    ]


@pytest.mark.parametrize(
    ("call", "fault"),
    product(
        (OPENAI, {**KEYS, **BODIES, "another method": METHOD}),
        (OPENAI_WITHOUT_BODY, {**KEYS, "another method": METHOD}),
    ),
)
def test_openais_client_raises_what_it_is(clients, call, fault):
    with clients(openai.OpenAI, fault) as client, pytest.raises(openai.APIStatusError) as caught:
        call(client)
    error = caught.value
    assert (type(error), error.status_code) == (fault.openai, fault.status)
    assert error.response.json().keys() == {"error"}
    assert error.body.keys() == {"message", "type", "param", "code"}
    assert error.type == ("authentication_error" if fault.status == 401 else "invalid_request_error")
    assert error.request_id.startswith("req_")


@pytest.mark.parametrize(
    ("call", "fault"),
    product(
        (ANTHROPIC, {**KEYS, **BODIES, "another method": METHOD}),
        (ANTHROPIC_WITHOUT_BODY, {**KEYS, "another method": METHOD}),
    ),
)
def test_so_does_anthropics(clients, call, fault):
    with clients(anthropic.Anthropic, fault) as client, pytest.raises(anthropic.APIStatusError) as caught:
        call(client)
    error = caught.value
    assert (type(error), error.status_code) == (fault.anthropic, fault.status)
    assert error.body.keys() == {"type", "error", "request_id"}
    assert (error.body["type"], error.type) == ("error", fault.kind)
    assert error.request_id == error.body["request_id"]
    assert error.request_id.startswith("req_")


NO_SDK = ("/tokenize", "/detokenize", "/v1/toolglot/parse")
SMALL = ("/health", "/ready", "/metrics", "/version", "/openapi.json")


@pytest.mark.parametrize("path", NO_SDK)
@pytest.mark.parametrize("fault", [*KEYS.values(), *BODIES.values(), METHOD], ids=[*KEYS, *BODIES, "another method"])
def test_routes_that_no_client_has_answer_in_openais_form(serving, path, fault):
    served = serving(api_keys=(KEY,), max_body_bytes=MOST)
    headers = {"Authorization": "" if fault.key is None else f"Bearer {fault.key}".strip()}
    answer = served.http.request(fault.method or "POST", path, content=fault.body or b"{}", headers=headers)
    assert answer.status_code == fault.status
    assert answer.json()["error"].keys() == {"message", "type", "param", "code"}
    assert answer.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize("path", SMALL)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_small_routes_are_only_got(serving, path, method):
    served = serving(api_keys=(KEY,), max_body_bytes=MOST)
    answer = served.http.request(method, path)
    assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, {"GET", "HEAD"})
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert answer.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/messages", {"POST"}),
        ("/v1/models", {"GET", "HEAD"}),
        ("/v1/responses/x", {"GET", "HEAD", "DELETE"}),
        ("/v1/responses/x/cancel", {"POST"}),
    ],
)
def test_what_is_allowed_instead_is_said(served, path, allowed):
    assert set(served.http.put(path).headers["allow"].split(", ")) == allowed


@pytest.mark.parametrize(("kind", "calls"), [(openai.OpenAI, OPENAI), (anthropic.Anthropic, ANTHROPIC)])
@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=x", ""]
)
def test_a_body_is_read_as_json_whatever_it_is_called(clients, kind, calls, media):
    """``curl -d`` calls it a form."""
    fault = Fault(200, openai.APIStatusError, anthropic.APIStatusError, "", headers={"content-type": media})
    with clients(kind, fault) as client:
        for call in calls.values():
            assert call(client)
