"""The engine on the demo model."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from toolglot import load_parser
from toolglot.engine import drafts, local
from toolglot.engine.kernels import SdpaKernels
from toolglot.engine.local import LocalEngine
from toolglot.engine.protocol import SamplingParams
from toolglot.errors import EngineError, GrammarError
from toolglot.structural_tag import ConstString, JsonSchema, Sequence, StructuralTag

pytestmark = pytest.mark.model

TEXTS = ["Who are you?", "List three fruits.", "What is 2 + 2? Explain. " * 10, "Write a poem about the sea."]


@pytest.fixture(scope="session")
def prompts(demo_tokenizer):
    chat = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
    return [demo_tokenizer.encode(chat.format(text), add_special_tokens=False) for text in TEXTS]


async def test_greedy_output_is_generates_alone_and_in_a_batch(demo, demo_engine, prompts, collect, generate):
    expected = generate(demo.path, prompts, 16)

    alone = [await collect(demo_engine, prompt, 16) for prompt in prompts]
    together = await asyncio.gather(*(collect(demo_engine, prompt, 16) for prompt in prompts))

    assert [tokens for tokens, _ in alone] == expected
    assert together == alone
    assert alone[1][1] == "stop"


MORE = [*TEXTS, "Count to ten.", "Translate to French: good morning.", "Name a colour.", "Why is the sky blue? " * 3]
SYSTEM = "<|im_start|>system\nYou are a patient teacher who answers in one short sentence.<|im_end|>\n"


@pytest.fixture
def restart(loaded_demo, monkeypatch):
    """Start the engine with a batch, a budget, and a cache of so many blocks of four tokens."""

    async def restart(max_num_seqs: int, budget: int, blocks: int) -> LocalEngine:
        await loaded_demo.stop()
        monkeypatch.setattr(loaded_demo, "_max_num_seqs", max_num_seqs)
        monkeypatch.setattr(loaded_demo, "_kernels", SdpaKernels(4))
        monkeypatch.setattr(loaded_demo, "_blocks", blocks)
        monkeypatch.setitem(local._BATCH_TOKENS, "cpu", budget)
        await loaded_demo.start()
        return loaded_demo

    return restart


async def test_twenty_prompts_get_what_generate_says_whatever_else_is_going_on(
    demo, loaded_demo, demo_tokenizer, restart, prompts, reference, collect, preemptions, record_property
):
    chat = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
    texts = [*[chat.format(text) for text in MORE], *[SYSTEM + chat.format(text) for text in MORE], *MORE[:4]]
    asked = [demo_tokenizer.encode(text, add_special_tokens=False) for text in texts]
    expected = reference(demo.path, asked, 8)

    outputs = []
    for settings in ((16, 256, 1000), None, (5, 13, 1000), (16, 256, 50)):
        engine = loaded_demo if settings is None else await restart(*settings)
        assert not preemptions
        outputs += await asyncio.gather(*(collect(engine, prompt, 8) for prompt in asked))
        assert engine._loop._scheduler.blocks.held == 0
    await loaded_demo.stop()

    assert preemptions
    left = [said.is_left_by(tokens) for said, (tokens, _) in zip(expected * 4, outputs, strict=True)]
    record_property("near ties", f"{sum(left)} in {len(left)} outputs; {len(preemptions)} preemptions")


async def test_twenty_requests_at_once_all_finish(demo_engine, prompts, collect):
    outputs = await asyncio.gather(*(collect(demo_engine, prompts[n % 2], 6) for n in range(20)))

    assert all(output == outputs[n % 2] for n, output in enumerate(outputs))
    assert demo_engine.running == 0


async def test_output_under_a_structural_tag_is_what_the_tag_says(demo_engine, demo_tokenizer, prompts, collect):
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    tag = StructuralTag(Sequence((ConstString("Answer: "), JsonSchema(schema))))
    constraint = await demo_engine.compile(tag)

    bound, free = await asyncio.gather(
        collect(demo_engine, prompts[2], 40, constraint), collect(demo_engine, prompts[0], 8)
    )

    text = demo_tokenizer.decode(bound[0])
    assert bound[1] == "stop"
    assert text.startswith("Answer: ")
    assert isinstance(json.loads(text.removeprefix("Answer: "))["sum"], int)
    assert free == await collect(demo_engine, prompts[0], 8)


CONVERT = {
    "name": "convert_temperature",
    "parameters": {
        "type": "object",
        "properties": {"degrees": {"type": "number"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
        "required": ["degrees", "unit"],
    },
}


async def test_a_call_whose_text_is_mostly_forced_is_the_same_in_fewer_passes(
    demo_engine, demo_tokenizer, monkeypatch, record_property
):
    parser = load_parser("hermes", tokenizer=demo_tokenizer)
    tools = [{"type": "function", "function": CONVERT}]
    constraint = await demo_engine.compile(parser.structural_tag(tools, "required", parallel_tool_calls=False))
    asked = "Convert 30 degrees to fahrenheit.<|im_end|>\n<|im_start|>assistant\n"
    prompt = demo_tokenizer.encode(f"<|im_start|>system\n{json.dumps(CONVERT)}<|im_end|>\n<|im_start|>user\n{asked}")
    sampling = SamplingParams(max_tokens=60, temperature=0)

    guessed = [delta async for delta in demo_engine.submit(prompt, sampling, constraint)]
    monkeypatch.setattr(drafts, "MOST", 0)
    plain = [delta async for delta in demo_engine.submit(prompt, sampling, constraint)]

    tokens = [token for delta in plain for token in delta.token_ids]
    assert [token for delta in guessed for token in delta.token_ids] == tokens
    (call,) = parser.parse(demo_tokenizer.decode(tokens), tools=tools).tool_calls
    assert call.outcome == "ok"
    assert len(guessed) < len(plain) / 2  # a delta is what one pass brought
    record_property("passes", f"{len(guessed)} in place of {len(plain)}")


async def test_a_tag_that_cannot_be_compiled_is_a_grammar_error(demo_engine):
    with pytest.raises(GrammarError):
        await demo_engine.compile(StructuralTag(JsonSchema({"type": "no such type"})))


async def test_without_xgrammar_the_error_says_what_to_install(loaded_demo, monkeypatch):
    monkeypatch.setitem(sys.modules, "toolglot.grammar", None)
    await loaded_demo.start()

    with pytest.raises(GrammarError, match=r'pip install "toolglot\[grammar\]"'):
        await loaded_demo.compile(StructuralTag(ConstString("x")))
    await loaded_demo.stop()


async def test_compile_needs_a_started_engine(loaded_demo):
    with pytest.raises(EngineError, match="not running"):
        await loaded_demo.compile(StructuralTag(ConstString("x")))
