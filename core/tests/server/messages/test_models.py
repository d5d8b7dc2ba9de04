"""The served models, as Anthropic's clients ask for them."""

from __future__ import annotations

import asyncio

import anthropic
import pytest

VERSION = {"anthropic-version": "2023-06-01"}


def test_the_model_is_listed_with_what_it_takes(api):
    (model,) = api.sdk.models.list()
    assert (model.id, model.display_name, model.type, model.lifecycle) == ("scripted", "scripted", "model", "active")
    assert (model.max_input_tokens, model.max_tokens) == (6000, 6000)
    assert model.created_at.tzinfo is not None
    assert api.sdk.models.retrieve("scripted") == model
    assert [one.id for one in api.sdk.beta.models.list()] == ["scripted"]
    assert type(model).model_validate(model.to_dict(), strict=True)


def test_every_name_is_on_the_one_page(apis):
    api = apis(served_model_names=("org/big", "big"))
    page = api.sdk.models.list(limit=1)
    assert [model.id for model in page] == ["org/big", "big"]
    assert (page.first_id, page.last_id, page.has_more) == ("org/big", "big", False)
    assert api.sdk.models.retrieve("org/big").id == "org/big"


def test_the_asynchronous_client_lists_them_too(api):
    async def names():
        async with anthropic.AsyncAnthropic(base_url=api.served.url, api_key="none") as client:
            return [model.id async for model in client.models.list()]

    assert asyncio.run(names()) == ["scripted"]


def test_an_unknown_model_is_not_found(api):
    with pytest.raises(anthropic.NotFoundError) as caught:
        api.sdk.models.retrieve("claude")
    assert caught.value.type == "not_found_error"
    assert caught.value.request_id.startswith("req_")


def test_other_clients_get_openais_form(api):
    for path in ("/v1/models", "/v1/models/scripted"):
        openais, anthropics = api.served.http.get(path), api.served.http.get(path, headers=VERSION)
        assert "object" in openais.json()
        assert "object" not in anthropics.json()
        assert openais.headers["vary"] == anthropics.headers["vary"] == "anthropic-version"


def test_a_key_is_asked_for_in_the_same_form(apis):
    http = apis(api_keys=("sesame",)).served.http
    for headers, named in ((VERSION, True), ({}, False)):
        response = http.get("/v1/models", headers={"Authorization": "", **headers})
        assert (response.status_code, "type" in response.json()) == (401, named)


def test_the_header_changes_no_other_path(api):
    response = api.served.http.post("/v1/chat/completions", json={}, headers=VERSION)
    assert "type" not in response.json()
