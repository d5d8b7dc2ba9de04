"""The official SDK's ``parse`` helpers, with pydantic models for tools and content."""

from __future__ import annotations

import openai
import pytest
from pydantic import BaseModel

MESSAGES = [{"role": "user", "content": "Hi"}]


class Weather(BaseModel):
    city: str
    days: int


CALL = '<tool_call>\n{"name": "Weather", "arguments": {"city": "Oslo", "days": 2}}\n</tool_call>'


def test_a_tool_is_parsed(served):
    served.engine.say(CALL)
    completion = served.client.chat.completions.parse(
        model="scripted", messages=MESSAGES, tools=[openai.pydantic_function_tool(Weather)]
    )
    (call,) = completion.choices[0].message.tool_calls
    assert call.function.parsed_arguments == Weather(city="Oslo", days=2)
    assert served.engine.constraints[-1] is not None  # the helper's tools are strict


def test_content_is_parsed(served):
    served.engine.say('{"city": "Oslo", "days": 2}')
    completion = served.client.chat.completions.parse(model="scripted", messages=MESSAGES, response_format=Weather)
    assert completion.choices[0].message.parsed == Weather(city="Oslo", days=2)


@pytest.mark.parametrize("text", [CALL, '{"city": "Oslo", "days": 2}'], ids=["call", "content"])
async def test_streams_are_parsed(served, text):
    served.engine.say(text, each=3)
    fields = {"tools": [openai.pydantic_function_tool(Weather)], "response_format": Weather}
    async with (
        openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client,
        client.chat.completions.stream(model="scripted", messages=MESSAGES, **fields) as stream,
    ):
        kinds = [event.type async for event in stream]
        message = (await stream.get_final_completion()).choices[0].message
    if text == CALL:
        assert "tool_calls.function.arguments.done" in kinds
        assert message.tool_calls[0].function.parsed_arguments == Weather(city="Oslo", days=2)
    else:
        assert "content.done" in kinds
        assert message.parsed == Weather(city="Oslo", days=2)
