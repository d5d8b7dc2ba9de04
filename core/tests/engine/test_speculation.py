"""With guessed tokens, outputs are what they are without them, and take fewer passes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence as Seq
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig

from toolglot.engine import drafts, local
from toolglot.engine.drafts import PromptLookup
from toolglot.engine.local import LocalEngine
from toolglot.engine.model import Model
from toolglot.engine.protocol import SamplingParams, TokenDelta
from toolglot.errors import EngineError
from toolglot.grammar import Compiler
from toolglot.structural_tag import ConstString, JsonSchema, Sequence, StructuralTag, Tag, Token

WORDS = ('{"name": "', '", "arguments": {"', "get_weather", "city", '": "', "Paris", "unit")
END = 3
"""The model's stop token."""
CALL = JsonSchema(
    {
        "type": "object",
        "properties": {
            "city": {"enum": ["Paris", "Prague", "Rome"]},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "days": {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "maxItems": 3},
        },
        "required": ["city", "unit", "days"],
    }
)
LOOKUP = PromptLookup(count=4, longest=3, shortest=1)
KINDS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "a seed": {"temperature": 1.0, "seed": 3},
    "few to choose from": {"temperature": 0.7, "seed": 4, "top_k": 5, "top_p": 0.9},
    "penalties": {"presence_penalty": 0.5, "frequency_penalty": 0.5, "repetition_penalty": 1.1},
    "a bias": {"logit_bias": {40: 3.0, 41: -2.0}},
    "probabilities": {"logprobs": 2, "temperature": 1.0, "seed": 5},
    "a least length": {"min_tokens": 15},
    "stop tokens": {"stop_token_ids": frozenset({46, 90, 120})},
    "seven tokens": {"max_tokens": 7},
    "one token": {"max_tokens": 1},
    "no end": {"ignore_eos": True},
}
PROMPTS = [[5, 6, 7] * 4, [*range(20, 60)], [9]]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """One token a byte, and the beginnings of some words."""
    spell = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    vocab = {letter: number for number, letter in enumerate(sorted(spell.alphabet()))}
    merges = []
    for word in WORDS:
        ((spelled, _),) = spell.pre_tokenize_str(word)
        for length in range(2, len(spelled) + 1):
            if spelled[:length] not in vocab:
                vocab[spelled[:length]] = len(vocab)
                merges.append((spelled[: length - 1], spelled[length - 1]))
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer, tokenizer.decoder = spell, decoders.ByteLevel()
    tokenizer.add_special_tokens(["<call>", "</call>"])
    return tokenizer


@pytest.fixture(scope="module")
def path(save: Any, shape: dict[str, Any], tokenizer: Tokenizer) -> Path:
    return save(LlamaConfig(**shape | {"vocab_size": tokenizer.get_vocab_size()}))


@pytest.fixture(scope="module")
def constraints(tokenizer: Tokenizer) -> dict[str, Any]:
    compiler = Compiler(tokenizer, vocab_size=tokenizer.get_vocab_size(), stop_token_ids=[END])
    begin, end = (Token(tokenizer.token_to_id(name)) for name in ("<call>", "</call>"))
    opening = ConstString('{"name": "get_weather", "arguments": ')
    tags = {"text": Sequence((opening, CALL)), "markers": Tag(begin, Sequence((opening, CALL)), end)}
    return {"free": None} | {name: compiler.compile(StructuralTag(tag)) for name, tag in tags.items()}


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tokens each forward pass takes in."""
    sizes: list[int] = []
    forward = Model.forward

    def counted(self: Model, step: Any) -> Any:
        sizes.append(len(step.batch.token_ids))
        return forward(self, step)

    monkeypatch.setattr(Model, "forward", counted)
    return sizes


@pytest.fixture
def plainly(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Do something without guesses."""

    async def plainly(work: Any) -> Any:
        with monkeypatch.context() as without:
            without.setattr(drafts, "MOST", 0)
            return await work

    return plainly


class Said:
    """One output; equal to another if it says the same, rounding aside, in however many steps."""

    def __init__(self, deltas: Seq[TokenDelta]) -> None:
        self.deltas = deltas
        self.tokens = [token for delta in deltas for token in delta.token_ids]
        self.logprobs = [logprobs for delta in deltas for logprobs in delta.logprobs]
        self.end = deltas[-1].finish, deltas[-1].stop_token
        self.told = [delta.speculation for delta in deltas if delta.speculation is not None]
        assert all(not delta.finish for delta in deltas[:-1])
        assert all(0 <= told.accepted <= told.drafted for told in self.told)

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Said)
        assert len(self.logprobs) == len(other.logprobs)
        for one, another in zip(self.logprobs, other.logprobs, strict=True):
            assert one.logprob == pytest.approx(another.logprob, abs=1e-4)
            assert dict(one.top) == pytest.approx(dict(another.top), abs=1e-4)
        return (self.tokens, self.end) == (other.tokens, other.end)

    def accepted(self, kind: str) -> int:
        return sum(told.accepted for told in self.told if told.kind == kind)


async def ask(engine: LocalEngine, prompt: Seq[int], constraint: Any, **fields: Any) -> Said:
    sampling = SamplingParams(**{"max_tokens": 30, "temperature": 0, **fields})
    return Said([delta async for delta in engine.submit(prompt, sampling, constraint)])


async def ask_all(engine: LocalEngine, constraints: dict[str, Any]) -> list[Said]:
    return await asyncio.gather(
        *(
            ask(engine, prompt, constraint, **kind)
            for constraint in constraints.values()
            for kind in KINDS.values()
            for prompt in PROMPTS[:2]
        )
    )


async def test_outputs_are_the_same_however_many_tokens_are_guessed(
    path, serve, constraints, plainly, cache_of, preemptions, monkeypatch
):
    engine = await serve(path, eos=END)
    expected = await plainly(ask_all(engine, constraints))
    assert not any(said.told for said in expected)

    runs = [await ask_all(engine, constraints)]
    engine = await serve(path, eos=END, lookup=LOOKUP)
    runs += [await ask_all(engine, constraints), await ask_all(engine, constraints)]
    monkeypatch.setitem(local._BATCH_TOKENS, "cpu", 13)
    runs.append(await ask_all(await serve(path, eos=END, lookup=LOOKUP, max_num_seqs=5), constraints))
    assert not preemptions
    cache_of(200, 4)
    runs.append(await ask_all(small := await serve(path, eos=END, lookup=LOOKUP), constraints))

    for run in runs:
        assert run == expected
        assert sum(said.accepted("grammar") for said in run) > 100
    assert preemptions
    assert small._loop._scheduler.blocks.held == 0
    assert [sum(said.accepted("prompt") for said in run) > 10 for run in runs] == [False, True, True, True, True]


async def test_what_was_guessed_and_did_not_come_is_no_prefix_of_others(path, serve, constraints, plainly):
    engine = await serve(path, eos=END, lookup=LOOKUP)
    first = [await ask(engine, [*prompt, *PROMPTS[0]], None, **KINDS["no end"]) for prompt in PROMPTS]
    assert any(told.accepted < told.drafted for said in first for told in said.told)

    fresh = await serve(path, eos=END)
    for said, prompt in zip(first, PROMPTS, strict=True):
        longer = [*prompt, *PROMPTS[0], *said.tokens]
        known = await ask(engine, longer, None)
        assert known.deltas[0].cached_tokens >= 32
        assert known == await plainly(ask(fresh, longer, None))


async def test_a_text_that_is_forced_takes_few_passes(path, serve, tokenizer, plainly, passes):
    compiler = Compiler(tokenizer, vocab_size=tokenizer.get_vocab_size(), stop_token_ids=[END])
    begin, end = (Token(tokenizer.token_to_id(name)) for name in ("<call>", "</call>"))
    constraint = compiler.compile(StructuralTag(Tag(begin, ConstString("x"), end)))  # each can be written in one way
    engine = await serve(path, eos=END)

    expected = await plainly(ask(engine, [1, 2], constraint))
    plain, passes[:] = [*passes], []
    said = await ask(engine, [1, 2], constraint)

    assert said == expected
    assert (len(said.tokens), plain, passes) == (3, [2, 1, 1, 1], [5])
    assert said.deltas[0].token_ids == (begin.token, ord("x") - 33, end.token)


async def test_guesses_stop_at_the_most_tokens(path, serve, constraints, passes):
    engine = await serve(path, eos=END)
    for most in (1, 2, 5):
        passes.clear()
        said = await ask(engine, [1], constraints["text"], max_tokens=most)
        assert (len(said.tokens), said.end) == (most, ("length", None))
        assert max(passes) <= most


async def test_out_of_memory_and_failures_lose_nothing(path, serve, constraints, plainly, monkeypatch):
    engine = await serve(path, eos=END, max_num_seqs=4)
    asked = [(prompt, constraint) for prompt in PROMPTS for constraint in constraints.values()]
    expected = [await plainly(ask(engine, *one)) for one in asked]
    forward = Model.forward

    def limited(self: Model, step: Any) -> Any:
        if len(step.batch.token_ids) > 24:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return forward(self, step)

    monkeypatch.setattr(Model, "forward", limited)
    fresh = await serve(path, eos=END, max_num_seqs=4, lookup=LOOKUP)

    assert await asyncio.gather(*(ask(fresh, *one) for one in asked)) == expected
    assert fresh._loop._scheduler.budget < 25


async def test_a_guess_that_fails_costs_its_request_only(path, serve, constraints, plainly):
    class Broken:
        def matcher(self) -> Any:
            matcher = constraints["text"].matcher()
            matcher.forced = lambda most: 1 / 0
            return matcher

    engine = await serve(path, eos=END)
    expected = await plainly(ask(engine, [1], constraints["text"]))
    good, bad = await asyncio.gather(
        ask(engine, [1], constraints["text"]), ask(engine, [2], Broken()), return_exceptions=True
    )

    assert good == expected
    assert isinstance(bad, EngineError)
    assert engine._loop._scheduler.blocks.held == 0
