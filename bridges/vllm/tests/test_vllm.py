"""With real vLLM: its own parser, composed by its own manager, reads outputs as its server feeds them."""

from __future__ import annotations

import json
import re

import pytest
from bridges.vllm.tests.vllm_outputs import FAULTS, chunkings, tokenizer

pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="session", autouse=True)
def _registered():
    from vllm.plugins import load_general_plugins

    load_general_plugins()


def request_of(case, **fields):
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    asked = case.get("request") or {}
    messages = asked.get("messages") or [{"role": "user", "content": "?"}]
    choice = asked.get("tool_choice", "auto")
    fields = {"tools": case["tools"], "tool_choice": choice, "messages": messages, "stream": True} | fields
    return ChatCompletionRequest(model="m", **fields)


def composed(tools, reasoning, tokens):
    from vllm.parser import ParserManager

    return ParserManager.get_parser(tools, reasoning, enable_auto_tools=True, model_name="m", tokenizer=tokens)


def two_readers(tools, reasoning, tokens):
    """As vLLM composes them itself."""
    from vllm.parser import ParserManager

    return ParserManager.get_parser.toolglot_original(
        tools, reasoning, enable_auto_tools=True, model_name="m", tokenizer=tokens
    )


class Said:
    """What a client has of a stream."""

    def __init__(self):
        self.content = self.reasoning = ""
        self.calls = []

    def add(self, message):
        if message is None:
            return
        message = json.loads(message.model_dump_json(exclude_unset=True))  # as it is sent
        self.content += message.get("content") or ""
        self.reasoning += message.get("reasoning") or ""
        for call in message.get("tool_calls", ()):
            if "name" in call["function"]:
                assert call["index"] == len(self.calls)
                assert call["type"] == "function"
                self.calls.append([call["id"], call["function"]["name"], ""])
            self.calls[call["index"]][2] += call["function"].get("arguments", "")

    def parts(self):
        return parts(self.content, self.reasoning, [(name, arguments) for _, name, arguments in self.calls])


def parts(content, reasoning, calls):
    return flat(content), flat(reasoning), [(name, json.loads(arguments)) for name, arguments in calls]


def flat(text):
    return " ".join((text or "").split())


def expected(case):
    wanted = case["expected"]
    calls = [(call["name"], json.dumps(call["arguments"])) for call in wanted["tool_calls"]]
    return parts(wanted["content"], wanted["reasoning"], calls)


def streamed(parser, tokens, text, ids, cuts, request, prompt=()):
    said = Said()
    places = [0, *cuts, len(ids)]
    texts = [tokens.decode([number]) for number in ids]
    assert "".join(texts) == text
    for begin, end in zip(places, places[1:], strict=False):
        piece = "".join(texts[begin:end])
        said.add(parser.parse_delta(piece, ids[begin:end], request, list(prompt), finished=False))
    said.add(parser.parse_delta("", [tokens.eos_token_id], request, list(prompt), finished=True))
    return said


@pytest.mark.parametrize("compose", [composed, two_readers])
@pytest.mark.parametrize("bound", [False, True], ids=["text", "tokens"])
@pytest.mark.parametrize("case", FAULTS, ids=[case["id"] for case in FAULTS])
def test_faults(case, bound, compose):
    family, text = case["family"], case["raw_output"]
    name = f"toolglot_{family}"
    tokens = tokenizer(family if bound else None)
    reasoning = name if case["expected"]["reasoning"] else None
    cls = compose(name, reasoning, tokens)
    ids = tokens.encode(text, add_special_tokens=False)
    request = request_of(case)
    request = cls(tokens, request.tools).adjust_request(request)
    content, thought, calls = None, None, None
    thought, content, calls = cls(tokens, request.tools).parse(
        text, request, enable_auto_tools=True, model_output_token_ids=[*ids, tokens.eos_token_id]
    )
    got = parts(content, thought, [(call.name, call.arguments) for call in calls or ()])
    assert got == expected(case)
    for cuts in chunkings(len(ids)):
        said = streamed(cls(tokens, request.tools), tokens, text, ids, cuts, request)
        assert said.parts() == expected(case), cuts
    check_ids(case, [call.id for call in calls or ()])
    check_ids(case, [call_id for call_id, _, _ in said.calls])


def check_ids(case, ids):
    checks = case["checks"] or {}
    if "id" in checks:
        assert ids == [checks["id"]]
    if "id_regex" in checks:
        assert all(re.match(checks["id_regex"], one) for one in ids)
