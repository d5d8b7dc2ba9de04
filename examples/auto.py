"""Let a model decide: call a function, or answer. For ``toolglot serve --tool-call-parser generic``."""

import os

from openai import OpenAI

client = OpenAI(base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"), api_key="unused")

parameters = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 40}},
    "required": ["city"],
    "additionalProperties": False,
}
weather = {"name": "get_weather", "description": "The weather in a city.", "parameters": parameters}

replies = []
for question in ("Get the weather in Oslo.", "What is the capital of Norway?"):
    completion = client.chat.completions.create(
        model=client.models.list().data[0].id,
        messages=[{"role": "user", "content": question}],
        tools=[{"type": "function", "function": weather}],
        tool_choice="auto",
        temperature=0,
        max_completion_tokens=80,
    )
    replies.append(completion.choices[0].message)
    print(f"Question: {question}")
    for call in replies[-1].tool_calls or []:
        print(f"Function called: {call.function.name}, with {call.function.arguments}")
    if replies[-1].content:
        print(f"Answer: {replies[-1].content}")
