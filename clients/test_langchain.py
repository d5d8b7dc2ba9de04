"""``langchain-openai`` and ``langchain-anthropic``: a loop of one's own, as their guides have it."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from clients import weather
from clients.serving import MODEL, Served

OPENAI: Any = ChatOpenAI  # as its guide calls it, and not as its types have it
ANTHROPIC: Any = ChatAnthropic
TOOLS = {one.name: one for one in (tool(weather.get_weather), tool(weather.get_time))}


def openai_model(served: Served, **fields: Any) -> Any:
    return OPENAI(model=MODEL, base_url=f"{served.url}/v1", api_key="none", max_retries=0, **fields)


def anthropic_model(served: Served) -> Any:
    return ANTHROPIC(model_name=MODEL, base_url=served.url, api_key="none", max_retries=0)


MODELS: dict[str, Callable[[Served], Any]] = {
    "chat": openai_model,
    "responses": lambda served: openai_model(served, use_responses_api=True),
    "stored responses": lambda served: openai_model(served, use_previous_response_id=True, use_responses_api=True),
    "messages": anthropic_model,
}


def whole(model: Any, messages: list[Any]) -> Any:
    return model.invoke(messages)


def streamed(model: Any, messages: list[Any]) -> Any:
    return reduce(add, model.stream(messages))


@pytest.mark.parametrize("question", [weather.ONE_BY_ONE, weather.AT_ONCE])
@pytest.mark.parametrize("ask", [whole, streamed])
@pytest.mark.parametrize("api", MODELS)
def test_an_agent_calls_both_and_answers(served: Served, api: str, ask: Callable[..., Any], question: str) -> None:
    model = MODELS[api](served).bind_tools(list(TOOLS.values()))
    messages: list[Any] = [HumanMessage(question)]
    while (answer := ask(model, messages)).tool_calls:
        messages += [answer, *(TOOLS[call["name"]].invoke(call) for call in answer.tool_calls)]
    weather.came_to_its_end(answer.text)
