"""``openai-agents``: its own loop, over Chat Completions and Responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import agents
import openai
import pytest
from pydantic import BaseModel

from clients import weather
from clients.serving import MODEL, Served

TOOLS: Any = [agents.function_tool(weather.get_weather), agents.function_tool(weather.get_time)]
MODELS: Any = {"chat": agents.OpenAIChatCompletionsModel, "responses": agents.OpenAIResponsesModel}


@pytest.fixture
async def client(served: Served) -> AsyncIterator[openai.AsyncOpenAI]:
    agents.set_tracing_disabled(True)
    async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.mark.parametrize("question", [weather.ONE_BY_ONE, weather.AT_ONCE])
@pytest.mark.parametrize("api", MODELS)
async def test_an_agent_calls_both_and_answers(client: openai.AsyncOpenAI, api: str, question: str) -> None:
    agent = agents.Agent("forecaster", instructions="Be kind.", model=MODELS[api](MODEL, client), tools=TOOLS)
    result = await agents.Runner.run(agent, question)
    weather.came_to_its_end(result.final_output)


@pytest.mark.parametrize("question", [weather.ONE_BY_ONE, weather.AT_ONCE])
@pytest.mark.parametrize("api", MODELS)
async def test_so_it_does_when_streamed(client: openai.AsyncOpenAI, api: str, question: str) -> None:
    agent = agents.Agent("forecaster", instructions="Be kind.", model=MODELS[api](MODEL, client), tools=TOOLS)
    result = agents.Runner.run_streamed(agent, question)
    raw = [event.data async for event in result.stream_events() if event.type == "raw_response_event"]
    weather.came_to_its_end(result.final_output)
    text = "".join(event.delta for event in raw if event.type == "response.output_text.delta")
    assert text == weather.LOOKING + weather.ANSWER


async def test_the_server_keeps_the_conversation(client: openai.AsyncOpenAI) -> None:
    agent = agents.Agent("forecaster", model=MODELS["responses"](MODEL, client), tools=TOOLS)
    result = await agents.Runner.run(agent, weather.ONE_BY_ONE, auto_previous_response_id=True)
    weather.came_to_its_end(result.final_output)


async def test_the_client_keeps_it_all(client: openai.AsyncOpenAI) -> None:
    settings = agents.ModelSettings(store=False, response_include=["reasoning.encrypted_content"])
    model = MODELS["responses"](MODEL, client)
    agent = agents.Agent("forecaster", model=model, tools=TOOLS, model_settings=settings)
    weather.came_to_its_end((await agents.Runner.run(agent, weather.AT_ONCE)).final_output)


class Forecast(BaseModel):
    city: str
    rain: bool


@pytest.mark.parametrize("api", MODELS)
async def test_an_answer_of_a_type(client: openai.AsyncOpenAI, api: str) -> None:
    agent = agents.Agent("forecaster", model=MODELS[api](MODEL, client), output_type=Forecast)
    result = await agents.Runner.run(agent, weather.TYPED)
    assert result.final_output == Forecast(city="Oslo", rain=True)
