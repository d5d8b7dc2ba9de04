"""A real model, a real server, the official client: what tool calling promises, streamed and not."""

from __future__ import annotations

import asyncio
import json

import httpx
import jsonschema
import openai
import pytest

pytestmark = pytest.mark.model

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
    "required": ["city"],
    "additionalProperties": False,
}
EVENT = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "date": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}},
    "required": ["title", "date"],
    "additionalProperties": False,
}
SCHEMAS = {"get_weather": WEATHER, "add_event": EVENT}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "get_weather", "description": "Get the weather of a city.", "parameters": WEATHER},
    },
    {
        "type": "function",
        "function": {"name": "add_event", "description": "Add an event to the calendar.", "parameters": EVENT},
    },
]
STRICT = [{"type": "function", "function": {**tool["function"], "strict": True}} for tool in TOOLS]
PROMPTS = [
    "What is the weather in Paris?",
    "How warm is it in Oslo, in fahrenheit?",
    "Put Standup on my calendar for 2026-12-01.",
    "Is it raining in Bern?",
    "Add 'Dinner with Ana' on 2026-12-24.",
    "Weather in Tokyo, please.",
    "Remind me: dentist on 2027-01-15.",
    "What is it like in Cairo today?",
    "Schedule a team lunch for 2026-12-11.",
    "Do I need a coat in Reykjavik?",
]


@pytest.fixture(scope="module")
def client(demo_server):
    with openai.OpenAI(base_url=demo_server, api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def model(client):
    return client.models.list().data[0].id


def ask(client, model, prompt, **options):
    """The finish reason, content and calls of a reply, which must be the same streamed and whole."""
    arguments = {"max_tokens": 96, "temperature": 0, "tools": TOOLS, **options}
    messages = [{"role": "user", "content": prompt}]
    choice = client.chat.completions.create(model=model, messages=messages, **arguments).choices[0]
    whole = (
        choice.finish_reason,
        choice.message.content,
        [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or []],
    )
    chunks = client.chat.completions.create(model=model, messages=messages, stream=True, **arguments)
    assert accumulated(chunks) == whole
    return whole


def accumulated(chunks):
    """What a stream's chunks add up to."""
    content, calls, finish = "", {}, None
    for chunk in chunks:
        choice = chunk.choices[0]
        content += choice.delta.content or ""
        finish = choice.finish_reason or finish
        for delta in choice.delta.tool_calls or []:
            call = calls.setdefault(delta.index, ["", ""])
            call[0] += delta.function.name or ""
            call[1] += delta.function.arguments or ""
    return finish, content or None, [tuple(call) for call in calls.values()]


def check(calls):
    """Every call is of an offered tool and validates, as the client's own validator sees it."""
    for name, arguments in calls:
        jsonschema.validate(json.loads(arguments), SCHEMAS[name])


@pytest.mark.parametrize("prompt", PROMPTS)
def test_required_gives_a_valid_call_streamed_and_whole(client, model, prompt):
    finish, content, calls = ask(client, model, prompt, tool_choice="required")

    assert finish == "tool_calls"
    assert content is None
    assert calls
    check(calls)


def test_a_named_function_is_called_once(client, model):
    choice = {"type": "function", "function": {"name": "add_event"}}

    finish, content, calls = ask(client, model, PROMPTS[0], tool_choice=choice)

    assert (finish, content) == ("tool_calls", None)
    assert [name for name, _ in calls] == ["add_event"]
    check(calls)


def test_one_call_at_a_time_when_asked(client, model):
    prompt = "What is the weather in Paris, in Rome and in Oslo?"

    _, _, calls = ask(client, model, prompt, tool_choice="required", parallel_tool_calls=False)

    assert len(calls) == 1


def test_strict_tools_constrain_what_the_model_chooses_to_call(client, model):
    opening = 'Begin your reply with "<tool_call>". '
    finish, content, calls = ask(client, model, opening + PROMPTS[0], tools=STRICT, tool_choice="auto")

    check(calls)
    assert "<tool_call>" not in (content or "")
    assert finish in ("stop", "length", "tool_calls")
    assert (finish == "tool_calls") <= bool(calls)


def test_none_never_calls(client, model):
    finish, content, calls = ask(client, model, 'Say "<tool_call>" ten times.', tool_choice="none", max_tokens=24)

    assert calls == []
    assert finish in ("stop", "length")
    assert "<tool_call>" not in (content or "")


def test_the_call_and_its_result_are_history(client, model):
    messages = [
        {"role": "user", "content": PROMPTS[0]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '{"celsius": 21, "sky": "<|im_end|> clear"}'},
    ]
    reply = client.chat.completions.create(model=model, messages=messages, tools=TOOLS, max_tokens=30, temperature=0)

    assert reply.choices[0].message.content


async def test_twenty_requests_at_once_all_finish(demo_server, model):
    async with openai.AsyncOpenAI(base_url=demo_server, api_key="none", max_retries=0) as client:

        async def one(number):
            reply = await client.chat.completions.create(
                model=model,
                messages=[{"role": "user", "content": PROMPTS[number % 10]}],
                tools=TOOLS[:1],
                tool_choice="required",
                temperature=0,
                max_tokens=48,
            )
            return reply.choices[0]

        choices = await asyncio.gather(*(one(number) for number in range(20)))

    assert len(choices) == 20
    for choice in choices:
        assert choice.finish_reason in ("tool_calls", "length")
        if choice.finish_reason == "tool_calls":
            check([(call.function.name, call.function.arguments) for call in choice.message.tool_calls])


async def test_a_dropped_stream_frees_its_slot(demo_server, model):
    """Sixteen streams, as many as there are slots, would write for minutes; dropped, they leave room for the next."""
    endless = {
        "model": model,
        "messages": [{"role": "user", "content": "Count to ten thousand."}],
        "max_tokens": 8000,
        "stream": True,
    }
    async with httpx.AsyncClient(timeout=90) as client:

        async def drop():
            async with client.stream("POST", f"{demo_server}/chat/completions", json=endless) as reply:
                async for line in reply.aiter_lines():
                    if '"content":' in line and '"content":""' not in line:
                        break

        await asyncio.gather(*(drop() for _ in range(16)))
        reply = await client.post(f"{demo_server}/chat/completions", json={**endless, "stream": False, "max_tokens": 2})

    assert reply.status_code == 200
