"""``pydantic-ai``: its own loop, over all three APIs."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import openai
import pytest
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from clients import weather
from clients.serving import MODEL, Served

OPENAI: Any = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}


@asynccontextmanager
async def agent(served: Served, api: str) -> AsyncIterator[Agent]:
    async with (
        openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as one,
        anthropic.AsyncAnthropic(base_url=served.url, api_key="none", max_retries=0) as other,
    ):
        if api == "messages":
            model: Any = AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=other))
        else:
            model = OPENAI[api](MODEL, provider=OpenAIProvider(openai_client=one))
        yield Agent(model, instructions="Be kind.", tools=[weather.get_weather, weather.get_time])


@pytest.mark.parametrize("question", [weather.ONE_BY_ONE, weather.AT_ONCE])
@pytest.mark.parametrize("api", [*OPENAI, "messages"])
async def test_an_agent_calls_both_and_answers(served: Served, api: str, question: str) -> None:
    async with agent(served, api) as one:
        weather.came_to_its_end((await one.run(question)).output)


@pytest.mark.parametrize("question", [weather.ONE_BY_ONE, weather.AT_ONCE])
@pytest.mark.parametrize("api", [*OPENAI, "messages"])
async def test_so_it_does_when_streamed(served: Served, api: str, question: str) -> None:
    kinds: list[str] = []

    async def listen(_: Any, events: AsyncIterable[Any]) -> None:
        kinds.extend([event.event_kind async for event in events])

    async with agent(served, api) as one:
        weather.came_to_its_end((await one.run(question, event_stream_handler=listen)).output)
    assert kinds.count("part_delta") > 10
