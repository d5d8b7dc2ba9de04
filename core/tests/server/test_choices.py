"""Several replies to one request."""

from __future__ import annotations

import openai
import pytest

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
MESSAGES = [{"role": "user", "content": "Hi"}]


def say_all(served, *texts, **rest):
    for text in texts:
        served.engine.say(text, **rest)


def by_index(chunks):
    texts = {}
    for choice in (choice for chunk in chunks for choice in chunk["choices"]):
        texts[choice["index"]] = texts.get(choice["index"], "") + choice["delta"].get("content", "")
    return [texts[index] for index in sorted(texts)]


def test_each_choice_is_a_reply_of_its_own(served, weather):
    say_all(served, "One.", CALL, "Three, longer.")
    completion = served.chat(n=3, tools=[weather])
    assert [choice.index for choice in completion.choices] == [0, 1, 2]
    assert [choice.message.content for choice in completion.choices] == ["One.", None, "Three, longer."]
    assert [choice.finish_reason for choice in completion.choices] == ["stop", "tool_calls", "stop"]
    assert completion.usage.prompt_tokens == len(served.engine.prompts[0])
    assert completion.usage.completion_tokens == sum(
        len(served.engine.tokenizer.encode(text)) for text in ("One.", CALL, "Three, longer.")
    )


def test_streamed_choices_come_side_by_side_and_none_waits_for_another(served):
    say_all(served, "One", "Two and more")
    served.engine.scripts[1].delay = 0.02
    chunks = served.chunks(n=2, stream_options={"include_usage": True})
    assert by_index(chunks) == ["One", "Two and more"]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    for index in (0, 1):
        mine = [choice for choice in choices if choice["index"] == index]
        assert mine[0]["delta"] == {"role": "assistant", "content": ""}
        assert [choice["finish_reason"] for choice in mine] == [None] * (len(mine) - 1) + ["stop"]
    ends = [choice["index"] for choice in choices if choice["finish_reason"]]
    assert ends == [0, 1]
    assert choices[-2]["index"] == 1  # the first was over long before
    assert chunks[-1]["usage"]["completion_tokens"] == len("OneTwo and more")


def test_the_stream_helper_reads_choices(served, weather):
    say_all(served, "One.", CALL)
    with served.client.chat.completions.stream(model="scripted", messages=MESSAGES, tools=[weather], n=2) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "One."
    assert final.choices[1].message.tool_calls[0].function.name == "get_weather"


async def test_the_async_client_reads_choices(served):
    say_all(served, "One", "Two")
    async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
        stream = await client.chat.completions.create(model="scripted", messages=MESSAGES, n=2, stream=True)
        texts = ["", ""]
        async for chunk in stream:
            for choice in chunk.choices:
                texts[choice.index] += choice.delta.content or ""
    assert texts == ["One", "Two"]


@pytest.mark.parametrize(("seed", "seeds"), [(7, [7, 8, 9]), (2**63 - 1, [2**63 - 1, 0, 1]), (None, [None] * 3)])
def test_choices_have_seeds_of_their_own(served, seed, seeds):
    served.engine.say("x")
    served.chat(n=3, seed=seed)
    assert [sampling.seed for sampling in served.engine.samplings] == seeds


def test_the_prompt_and_the_grammar_are_made_once(served, weather):
    served.engine.say(CALL)
    served.chat(n=3, tools=[weather], tool_choice="required")
    first, *others = served.engine.constraints
    assert first is not None
    assert all(other is first for other in others)
    assert len(set(served.engine.prompts)) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_one_failure_ends_all(served, stream):
    served.engine.say("x" * 2000, delay=0.01)
    served.engine.scripts.append(served.engine.scripts[0])
    served.engine.scripts[1].error = None
    served.engine.full = True
    assert served.post(n=2, stream=stream).status_code == 429
    served.engine.full = False
    served.engine.scripts = []
    served.engine.say("", error=RuntimeError("broken"))
    served.engine.say("x" * 2000, delay=0.01)
    response = served.post(n=2, stream=stream)
    assert "error" in response.text
    served.wait_idle(2)


def test_a_client_that_leaves_ends_all(served):
    served.engine.say("x" * 5000, delay=0.01)
    with served.http.stream("POST", "/v1/chat/completions", json={
        "model": "scripted", "messages": MESSAGES, "n": 4, "stream": True
    }) as response:  # fmt: skip
        received = response.iter_bytes()
        next(received)
        assert served.engine.running == 4
    served.wait_idle(2)


def test_the_operator_sets_the_largest_number(serving):
    served = serving(max_choices=2)
    served.engine.say("x")
    assert len(served.chat(n=2).choices) == 2
    assert "2 replies" in served.error(400, n=3)["message"]
