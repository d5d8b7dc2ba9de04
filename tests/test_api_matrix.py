"""Every parser's own output across every API, whole and streamed: the official clients end with what it says.

``pytest tests/test_api_matrix.py -s`` prints the table.
"""

from __future__ import annotations

import importlib.util
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import anthropic
import openai
import pytest
import uvicorn
from openai.lib.streaming.chat import ChatCompletionStreamState

import toolglot
from toolglot.backends.byte_tokenizer import byte_tokenizer
from toolglot.backends.prepared import PreparedOutput
from toolglot.backends.replay import ReplayEngine
from toolglot.events import Call
from toolglot.plugins import installed
from toolglot.prompts import PromptRenderer
from toolglot.server import ServerConfig, create_app
from toolglot.server.running import uvicorn_config
from toolglot.testing import Case, FormatSuite, load_cases
from toolglot_response_template import wire_format

MODEL = "replay"
SIZES = {"by 1": 1, "by 2": 2, "by 7": 7, "at once": 10**6}
"""The chunkings of streamed replies: how many tokens each delta has."""
COLUMNS = ("whole", *SIZES)
RESPONSE_TEMPLATE = {
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open": "<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
    },
}
"""What a checkpoint for the parser ``hf`` says of its format."""
_PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
_TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": _PARAMETERS}}

Said = tuple[str | None, list[tuple[str, Any]]]
"""What a client has in the end: the content, and the calls with their arguments as values."""


NAMES = [parser.name for parser in installed() if parser.version != "file"]
"""Those of the packages: other tests load files with parsers that are broken."""


@pytest.mark.parametrize("name", NAMES)
def test_all_apis_and_chunkings_agree_with_the_parser(
    name: str, root: Path, table: dict[str, list[str]], clients: Clients
) -> None:
    tokenizer = tokenizer_for(name)
    text, tools = example(name, tokenizer, root)
    message = toolglot.load_parser(name, tokenizer=tokenizer).parse(text, tools=tools)
    wanted = (message.content, [(call.name, json.loads(call.arguments)) for call in message.tool_calls])
    assert wanted[1], "an example without a call shows nothing"

    with serving(name, text, tokenizer) as url:
        for api, ask in APIS.items():
            found = {column: ask(clients.at(url), column, tools) for column in COLUMNS}
            table.setdefault(name, []).extend("ok" if said == wanted else "WRONG" for said in found.values())
            assert found == dict.fromkeys(COLUMNS, wanted), api


class Clients(NamedTuple):
    """The official clients, whose connections last from server to server."""

    openai: openai.OpenAI
    anthropic: anthropic.Anthropic

    def at(self, url: str) -> Clients:
        """The same for another server."""
        return Clients(self.openai.with_options(base_url=f"{url}/v1"), self.anthropic.with_options(base_url=url))


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    with (
        openai.OpenAI(api_key="none", max_retries=0) as one,
        anthropic.Anthropic(api_key="none", max_retries=0) as other,
    ):
        yield Clients(one, other)


def chat(clients: Clients, column: str, tools: Sequence[Any]) -> Said:
    asked: Any = {"model": MODEL, "messages": [{"role": "user", "content": column}], "tools": list(tools)}
    if column == "whole":
        completion = clients.openai.chat.completions.create(**asked)
    else:
        state = ChatCompletionStreamState()
        for chunk in clients.openai.chat.completions.create(**asked, stream=True):
            state.handle_chunk(chunk)
        completion = state.get_final_completion()
    message = completion.choices[0].message
    calls = [call.function for call in message.tool_calls or ()]
    return message.content or None, [(call.name, json.loads(call.arguments)) for call in calls]


def responses(clients: Clients, column: str, tools: Sequence[Any]) -> Said:
    flat = [{"type": "function", **tool["function"], "strict": False} for tool in tools]
    asked: Any = {"model": MODEL, "input": column, "tools": flat}
    if column == "whole":
        response = clients.openai.responses.create(**asked)
    else:
        with clients.openai.responses.stream(**asked) as stream:
            response = stream.get_final_response()
    calls = [item for item in response.output if item.type == "function_call"]
    return response.output_text or None, [(call.name, json.loads(call.arguments)) for call in calls]


def messages(clients: Clients, column: str, tools: Sequence[Any]) -> Said:
    functions = [tool["function"] for tool in tools]
    inputs = [{"name": one["name"], "input_schema": {"type": "object", **one["parameters"]}} for one in functions]
    asked: Any = {"model": MODEL, "messages": [{"role": "user", "content": column}], "tools": inputs}
    if column == "whole":
        message = clients.anthropic.messages.create(**asked, max_tokens=4000)
    else:
        with clients.anthropic.messages.stream(**asked, max_tokens=4000) as stream:
            message = stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    return text or None, [(block.name, block.input) for block in message.content if block.type == "tool_use"]


APIS: dict[str, Callable[[Clients, str, Sequence[Any]], Said]] = {
    "chat": chat,
    "responses": responses,
    "messages": messages,
}


@pytest.fixture(scope="module")
def table() -> Iterator[dict[str, list[str]]]:
    """What came of each parser, in the order of APIs and columns; printed in the end."""
    rows: dict[str, list[str]] = {}
    yield rows
    width = max(map(len, rows), default=0)
    heads = "  ".join(f"{api} ({', '.join(COLUMNS)})" for api in APIS)
    lines = [" ".join((f"{name:{width}}", *(f"{cell:5}" for cell in cells))) for name, cells in rows.items()]
    sys.stdout.write("\n".join(("", f"{'parser':{width}} {heads}", *lines, "")))


def tokenizer_for(name: str) -> Any:
    """A tokenizer with the parser's markers. ``hf`` takes its format from it."""
    if name != "hf":
        return byte_tokenizer(toolglot.load_parser(name).plugin.form)
    tokenizer = byte_tokenizer(wire_format(RESPONSE_TEMPLATE))
    tokenizer.response_template = RESPONSE_TEMPLATE
    return tokenizer


def example(name: str, tokenizer: Any, root: Path) -> tuple[str, Sequence[Any]]:
    """An output of the parser with a call, and the tools that it was offered: the first of its plugin's own cases."""
    folder = folders(root).get(name)
    for case in [] if folder is None else load_cases(folder):
        if is_plain(case):
            return case.raw_output, case.tools
    call = Call("", "get_weather", '{"city": "Oslo"}')
    return toolglot.load_parser(name, tokenizer=tokenizer).render([call], tools=[_TOOL]), [_TOOL]


def is_plain(case: Case) -> bool:
    """Whether a case is a call that needs no context, and that every API can show."""
    offered = {tool["function"]["name"]: tool["function"] for tool in case.tools}
    plain = case.tool_choice == "auto" and case.finish_reason == "stop" and not case.reasoning_open
    called = [call for call in case.expected.tool_calls if isinstance(call.arguments, dict)]
    known = all(call.name in offered and offered[call.name].get("parameters") for call in case.expected.tool_calls)
    return plain and bool(called) and known and not case.earlier_calls and not case.constrained


@cache
def folders(root: Path) -> dict[str, Path]:
    """Where the cases of each parser are, as its suite says."""
    suites = [suite for path in sorted(root.glob("plugins/*/tests/test_conformance.py")) for suite in suites_in(path)]
    return {suite.parser: suite.cases for suite in suites if suite.cases is not None}


def suites_in(path: Path) -> list[type[FormatSuite]]:
    spec = importlib.util.spec_from_file_location(f"suites_of_{path.parents[1].name}", path)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, FormatSuite)]
    return [suite for suite in found if hasattr(suite, "parser")]


@contextmanager
def serving(name: str, text: str, tokenizer: Any) -> Iterator[str]:
    """A server that replays ``text`` through the parser, in deltas as the prompt asks; its URL."""
    outputs = [PreparedOutput(text, chunks=size, match=column) for column, size in SIZES.items()]
    engine = ReplayEngine(
        [*outputs, PreparedOutput(text)], tokenizer, name=MODEL, max_model_len=100_000, max_running=100
    )
    config = ServerConfig(enable_auto_tool_choice=True, strict_level="auto")
    parser = toolglot.load_parser(name, tokenizer=tokenizer)
    app = create_app(config, engine=engine, tokenizer=tokenizer, prompts=PromptRenderer(tokenizer), parser=parser)
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn_config(app, config))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.005)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
