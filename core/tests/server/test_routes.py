"""The small routes, and the key."""

from __future__ import annotations

import re
from importlib.metadata import version
from itertools import product

import openai
import pytest

KEYS = [{}, {"Authorization": "Bearer wrong"}, {"x-api-key": "wrong"}]
VERSIONS = [{}, {"anthropic-version": "2023-06-01"}]


def test_the_model_is_listed_with_what_it_takes(served):
    (model,) = served.client.models.list().data
    assert (model.id, model.object, model.owned_by) == ("scripted", "model", "toolglot")
    assert model.model_extra["max_model_len"] == 6000
    assert served.client.models.retrieve("scripted") == model


def test_every_served_name_is_listed_and_works(serving):
    served = serving(served_model_names=("org/big", "big"))
    served.engine.say("Hi")
    assert [model.id for model in served.client.models.list().data] == ["org/big", "big"]
    assert served.http.get("/v1/models/org/big").json()["id"] == "org/big"
    for name in ("org/big", "big"):
        messages = [{"role": "user", "content": "Hi"}]
        assert served.client.chat.completions.create(model=name, messages=messages).model == name
    assert served.post(model="scripted").status_code == 404


def test_an_unknown_model_is_not_found(served):
    with pytest.raises(openai.NotFoundError) as caught:
        served.client.models.retrieve("gpt-4o")
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize("path", ["/v1/models/", "/health/", "/v1/responses/"])
def test_a_path_with_a_slash_too_many_is_not_found_and_leads_nowhere(served, path):
    answer = served.http.get(path, headers={"Host": "elsewhere"}, follow_redirects=False)
    assert (answer.status_code, answer.headers.get("location")) == (404, None)


def test_health_and_version(served):
    assert served.http.get("/health").status_code == 200
    assert served.http.get("/version").json() == {"version": version("toolglot")}


class TestKey:
    @pytest.fixture
    def locked(self, serving):
        return serving(api_keys=("sesame", "open"))

    @pytest.mark.parametrize("header", [None, "Bearer wrong", "sesame", "Basic sesame", "Bearer", "Bearer sesame2"])
    @pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/models", "/version", "/nothing"])
    def test_without_the_right_one_nothing_is_told(self, locked, path, header):
        headers = {"Authorization": header or ""}
        response = locked.http.post(path, headers=headers, json={})
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        error = response.json()["error"]
        assert (error["code"], error["param"]) == ("invalid_api_key", None)
        assert "sesame" not in response.text

    @pytest.mark.parametrize("headers", KEYS, ids=str)
    def test_every_route_but_health_says_so_in_its_apis_own_body(self, locked, headers):
        """Whatever the route, the method and the version that is asked for; also where there is no such route."""
        routes = [route for route in locked.app.routes if route.path not in ("/health", "/ready")]
        assert len(routes) > 15
        for path in [*(re.sub(r"{.*?}", "x", route.path) for route in routes), "/", "/v1/messages/batches", "/docs"]:
            for method, asked_version in product(("GET", "POST", "DELETE", "OPTIONS"), VERSIONS):
                anthropics = path.startswith("/v1/messages") or (path.startswith("/v1/models") and bool(asked_version))
                asked = {"Authorization": "", **headers, **asked_version}
                response = locked.http.request(method, path, headers=asked, content=b"{}")
                assert response.status_code == 401, (method, path)
                error = response.json()["error"]
                if anthropics:
                    assert (response.json()["type"], error["type"]) == ("error", "authentication_error")
                    assert response.json()["request_id"] == response.headers["request-id"]
                else:
                    assert response.json().keys() == {"error"}
                    assert (error["type"], error["code"]) == ("authentication_error", "invalid_api_key")

    def test_the_official_client_raises_its_own_error(self, locked):
        wrong = openai.OpenAI(base_url=f"{locked.url}/v1", api_key="wrong", max_retries=0)
        with wrong as client, pytest.raises(openai.AuthenticationError):
            client.models.list()

    @pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
    def test_with_it_everything_works(self, locked, scheme):
        headers = {"Authorization": f"{scheme} sesame"}
        assert locked.http.get("/v1/models", headers=headers).status_code == 200

    @pytest.mark.parametrize("path", ["/health", "/ready"])
    def test_health_needs_none(self, locked, path):
        assert locked.http.get(path, headers={"Authorization": ""}).status_code == 200

    def test_any_of_several_will_do_in_either_header(self, locked):
        for header in ({"Authorization": "Bearer open"}, {"x-api-key": "sesame"}, {"X-Api-Key": "open"}):
            headers = {"Authorization": "", **header}
            assert locked.http.get("/v1/models", headers=headers).status_code == 200

    def test_one_right_header_is_enough(self, locked):
        headers = {"Authorization": "Bearer nonsense", "x-api-key": "open"}
        assert locked.http.get("/v1/models", headers=headers).status_code == 200

    @pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/completions"])
    def test_each_can_have_a_prefix_cache_of_its_own(self, serving, path):
        alone = serving(api_keys=("sesame", "open"), isolate_prefix_cache=True)
        alone.engine.say("Hi")
        prompt = {"messages": [{"role": "user", "content": "Hi"}], "input": "Hi", "prompt": "Hi"}
        for key in ("sesame", "open", "sesame"):
            names = {"/v1/responses": ("input",), "/v1/completions": ("prompt",)}.get(path, ("messages",))
            body = {"model": "scripted", **{name: prompt[name] for name in names}}
            body |= {"max_tokens": 4} if path == "/v1/messages" else {}
            answer = alone.http.post(path, headers={"Authorization": f"Bearer {key}"}, json=body)
            assert answer.status_code == 200
        salts = [sampling.cache_salt for sampling in alone.engine.samplings]
        assert salts[0] == salts[2] != salts[1]
        assert b"" not in salts
        assert not any(key in salt for key in (b"sesame", b"open") for salt in salts)

    def test_otherwise_all_share_one(self, locked):
        locked.engine.say("Hi")
        for key in ("sesame", "open"):
            body = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]}
            locked.http.post("/v1/chat/completions", headers={"Authorization": f"Bearer {key}"}, json=body)
        assert [sampling.cache_salt for sampling in locked.engine.samplings] == [b"", b""]

    @pytest.mark.parametrize("value", ["", "Bearer sesame", "sesameopen", "s\u00e9same"])
    def test_another_x_api_key_is_refused(self, locked, value):
        headers = {"Authorization": "", "x-api-key": value.encode("latin-1")}
        assert locked.http.get("/v1/models", headers=headers).status_code == 401


class TestErrorBodies:
    """Each API's errors are in its own form, whoever finds them: here those that no API itself makes."""

    @pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens", "/v1/messages/nothing"])
    def test_anthropics_has_anthropics(self, serving, path):
        locked = serving(api_keys=("sesame", "open"))
        response = locked.http.post(path, headers={"Authorization": ""}, json={})
        assert response.status_code == 401
        body = response.json()
        assert (body["type"], body["error"]["type"]) == ("error", "authentication_error")
        assert body["request_id"] == response.headers["request-id"] == response.headers["x-request-id"]

    def test_a_path_that_is_none_and_a_method_that_is_none(self, served):
        anthropic = served.http.post("/v1/messages/nothing", json={})
        assert (anthropic.status_code, anthropic.json()["error"]["type"]) == (404, "not_found_error")
        openai_s = served.http.post("/v1/nothing", json={})
        assert (openai_s.status_code, openai_s.json()["error"]["type"]) == (404, "invalid_request_error")
        assert served.http.get("/v1/chat/completions").status_code == 405

    def test_a_name_that_only_begins_alike_is_not_anthropics(self, served):
        assert "type" not in served.http.post("/v1/messages_of_mine", json={}).json()
