"""Ask a model for the weather. It calls a function, which runs here."""

import json
import os

from openai import OpenAI

client = OpenAI(base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"), api_key="unused")


def get_weather(location: str, unit: str) -> str:
    return f"22 degrees {unit} and sunny in {location}"


parameters = {
    "type": "object",
    "properties": {
        "location": {"type": "string", "maxLength": 40},
        "unit": {"enum": ["celsius", "fahrenheit"]},
    },
    "required": ["location", "unit"],
    "additionalProperties": False,
}
request = {
    "model": client.models.list().data[0].id,
    "messages": [{"role": "user", "content": "What is the weather in Paris, in celsius?"}],
    "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": parameters}}],
    "tool_choice": "required",
    "temperature": 0,
}

call = client.chat.completions.create(**request).choices[0].message.tool_calls[0].function
print(f"Function called: {call.name}")
print(f"Arguments: {call.arguments}")
print(f"Result: {get_weather(**json.loads(call.arguments))}")

streamed = "".join(
    piece.function.arguments
    for chunk in client.chat.completions.create(**request, stream=True)
    for piece in chunk.choices[0].delta.tool_calls or []
)
print(f"Streamed: {streamed}")
