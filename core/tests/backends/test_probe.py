"""What is found out of an engine before the server starts, and what is said where that is not enough."""

from __future__ import annotations

import pytest

from toolglot.backends.dialects import DIALECTS
from toolglot.backends.link import Timeouts
from toolglot.backends.probe import probe
from toolglot.errors import ModelError


@pytest.fixture
def probed(tokenizer):
    async def work(*stand_ins, wanted=None, guesses=("the-model",), key=None, kind=None, urls=None):
        return await probe(
            DIALECTS[kind or stand_ins[0].kind](),
            urls or [one.url for one in stand_ins],
            wanted=wanted,
            guesses=guesses,
            tokenizer=tokenizer,
            api_key=key,
            timeouts=Timeouts(first_token=1, check=1),
        )

    return work


async def test_it_finds_the_model_and_its_length(kind, stand_in, probed):
    found = await probed(await stand_in(kind))
    name = "/models/the-model.gguf" if kind == "llamacpp" else "the-model"
    assert (found.model, found.missing) == (name, ())
    assert found.max_model_len == (None if kind == "openai" else 4096)
    assert found.takes == DIALECTS[kind].capabilities.takes


async def test_a_model_of_another_name_is_to_be_named(stand_in, probed):
    one = await stand_in(model="other")
    with pytest.raises(ModelError, match="serves other, and not the-model; say which it is: --engine-model NAME"):
        await probed(one)
    with pytest.raises(ModelError, match=r"--engine-model mine: .* serves other"):
        await probed(one, wanted="mine")
    assert (await probed(one, wanted="other")).model == "other"
    assert (await probed(one, guesses=("x", "/models/root"))).model == "other"


async def test_one_that_does_not_hold_to_a_tag_is_refused(kind, stand_in, probed):
    one = await stand_in(kind, obedient=False)
    if DIALECTS[kind].capabilities.grammar == "none":
        assert (await probed(one)).model == "the-model"
    else:
        with pytest.raises(
            ModelError, match="does not hold to a grammar, or its tokens are not those of this tokenizer"
        ):
            await probed(one)


async def test_where_none_answers_that_is_said(stand_in, probed):
    one = await stand_in()
    await one.server.kill()
    with pytest.raises(ModelError, match=r"no vllm engine answers at http://127\.0\.0\.1:\d+ \(.*Connection refused"):
        await probed(one)


async def test_of_several_one_must_answer(stand_in, probed):
    gone, there = await stand_in(), await stand_in()
    await gone.server.kill()
    found = await probed(gone, there)
    assert found.model == "the-model"
    assert gone.url in found.missing[0]


async def test_all_must_serve_the_same(stand_in, probed):
    with pytest.raises(ModelError, match="different models: one, two"):
        await probed(await stand_in(model="one"), await stand_in(model="two"), guesses=("one", "two"))


async def test_keys_are_sent_and_asked_for(stand_in, probed):
    one = await stand_in(key="sesame")
    with pytest.raises(ModelError, match=r"asks for a key \(401\); give --engine-api-key-file"):
        await probed(one)
    assert (await probed(one, key="sesame")).model == "the-model"


async def test_another_engine_is_told_from_the_right_one(stand_in, probed):
    one = await stand_in("vllm")
    for kind in ("sglang", "llamacpp"):
        one.only = {"/v1/models", "/v1/completions", "/health"}
        with pytest.raises(ModelError, match=rf"answers 404: that is no {kind} engine; see --engine"):
            await probed(one, kind=kind, guesses=("the-model",))
    with pytest.raises(ModelError, match="is no vllm engine: the engine tells no token ids"):
        await probed(await stand_in("openai"), kind="vllm")


async def test_seeds_are_obeyed_where_the_server_is_deterministic(stand_in, probed):
    assert "seed" in (await probed(await stand_in("sglang", deterministic=True))).takes
    assert "seed" in (await probed(await stand_in("sglang", deterministic=True, newer=True))).takes
    both = await stand_in("sglang", deterministic=True), await stand_in("sglang")
    assert "seed" not in (await probed(*both)).takes


@pytest.mark.parametrize(
    ("fault", "said"), [("garbage", "is no vllm engine"), (400, "refuses the request"), (500, "500")]
)
async def test_one_that_fails_is_told(stand_in, probed, fault, said):
    with pytest.raises(ModelError, match=said):
        await probed(await stand_in(fault=fault))
