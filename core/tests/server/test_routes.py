"""The small routes, and the key."""

from __future__ import annotations

from importlib.metadata import version

import openai
import pytest


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


def test_health_and_version(served):
    assert served.http.get("/health").status_code == 200
    assert served.http.get("/version").json() == {"version": version("toolglot")}


class TestKey:
    @pytest.fixture
    def locked(self, serving):
        return serving(api_key="sesame")

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

    def test_the_official_client_raises_its_own_error(self, locked):
        wrong = openai.OpenAI(base_url=f"{locked.url}/v1", api_key="wrong", max_retries=0)
        with wrong as client, pytest.raises(openai.AuthenticationError):
            client.models.list()

    @pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
    def test_with_it_everything_works(self, locked, scheme):
        headers = {"Authorization": f"{scheme} sesame"}
        assert locked.http.get("/v1/models", headers=headers).status_code == 200

    def test_health_needs_none(self, locked):
        assert locked.http.get("/health", headers={"Authorization": ""}).status_code == 200
