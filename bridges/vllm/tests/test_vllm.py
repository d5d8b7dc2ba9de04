"""With real vLLM: its own parser, composed by its own manager, reads outputs as its server feeds them."""

from __future__ import annotations

import copy
import json
import re
from itertools import pairwise

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


WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    },
}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
OSLO = [("get_weather", {"city": "Oslo"})]


def asked(**fields):
    return request_of({"tools": [WEATHER]}, **fields)


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


def streamed(parser, tokens, text, ids, cuts, request, prompt=(), *, end=True, late=0):
    """What comes of a stream. ``end``: it ends with the end token, and is not cut; ``late``: so many characters are
    held back, as vLLM holds them where stop strings are asked for.
    """
    said, sent = Said(), 0
    texts = [tokens.decode([number]) for number in ids]
    assert "".join(texts) == text
    for begin, until in pairwise([0, *cuts, len(ids)]):
        last = until == len(ids) and not end
        known = sum(map(len, texts[:until]))
        piece = text[sent : known if last else max(sent, known - late)]
        sent += len(piece)
        said.add(parser.parse_delta(piece, ids[begin:until], request, list(prompt), finished=last))
    if end:
        said.add(parser.parse_delta(text[sent:], [tokens.eos_token_id], request, list(prompt), finished=True))
    return said


def read_whole(parser, tokens, text, ids, request, prompt=(), *, end=True):
    parser.set_prompt_token_ids(list(prompt))
    ids = [*ids, tokens.eos_token_id] if end else ids
    thought, content, calls = parser.parse(text, request, enable_auto_tools=True, model_output_token_ids=ids)
    return parts(content, thought, [(call.name, call.arguments) for call in calls or ()])


def encoded(tokens, text):
    return tokens.encode(text, add_special_tokens=False)


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


def everywhere(cls, tokens, text, request, prompt="", **how):
    """What comes of an output, which must be the same at every chunking."""
    ids, before = encoded(tokens, text), encoded(tokens, prompt)
    found = [
        streamed(cls(tokens, request.tools), tokens, text, ids, cuts, request, before, **how).parts()
        for cuts in chunkings(len(ids))
    ]
    assert all(one == found[0] for one in found)
    return found[0]


both = pytest.mark.parametrize("compose", [composed, two_readers])


@both
@pytest.mark.parametrize("bound", [False, True], ids=["text", "tokens"])
def test_reasoning_that_the_prompt_opened(compose, bound):
    tokens = tokenizer("hermes" if bound else None)
    cls = compose("toolglot_hermes", "toolglot_hermes", tokens)
    text, prompt = f"Oslo, surely.\n</think>\n\nLet me look.\n{CALL}", "user: weather?\nassistant: <think>\n"
    wanted = ("Let me look.", "Oslo, surely.", OSLO)

    assert everywhere(cls, tokens, text, asked(), prompt) == wanted
    assert (
        read_whole(cls(tokens, asked().tools), tokens, text, encoded(tokens, text), asked(), encoded(tokens, prompt))
        == wanted
    )
    assert not cls(tokens).is_reasoning_end(encoded(tokens, prompt))


def test_a_call_in_the_reasoning_is_none_where_models_only_think_of_it():
    tokens = tokenizer("mistral")
    cls = composed("toolglot_mistral", "toolglot_mistral", tokens)
    call = '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}'

    assert everywhere(cls, tokens, f"[THINK]I could {call}.[/THINK]No.", asked()) == ("No.", f"I could {call}.", [])


def test_reasoning_of_one_parser_and_calls_of_another():
    tokens = tokenizer("mistral")
    cls = composed("toolglot_mistral", "toolglot_hermes", tokens)

    said = everywhere(cls, tokens, '<think>\nHm.\n</think>\n\n[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}', asked())

    assert said == ("", "Hm.", OSLO)


@pytest.mark.parametrize(("tools", "reasoning"), [("toolglot_hermes", "deepseek_r1"), ("hermes", "toolglot_hermes")])
def test_next_to_a_parser_of_vllms(tools, reasoning):
    tokens = tokenizer("hermes", special=False)
    cls = composed(tools, reasoning, tokens)

    text = f"<think>\nHm.\n</think>\n\n{CALL}"
    ids = encoded(tokens, text)
    said = streamed(cls(tokens, asked().tools), tokens, text, ids, range(1, len(ids)), asked(), [0])

    assert said.parts() == ("", "Hm.", OSLO)
    assert read_whole(cls(tokens, asked().tools), tokens, text, ids, asked()) == ("", "Hm.", OSLO)


@both
@pytest.mark.parametrize("late", [1, 5, 14])
def test_text_that_comes_later_than_its_tokens(compose, late):
    tokens = tokenizer("hermes")
    cls = compose("toolglot_hermes", None, tokens)

    assert everywhere(cls, tokens, f"Look:\n{CALL}\n{CALL}", asked(), late=late) == ("Look:", "", OSLO * 2)


@both
def test_what_is_held_back_comes_at_the_end(compose):
    tokens = tokenizer()
    cls = compose("toolglot_hermes", None, tokens)

    assert everywhere(cls, tokens, "So <tool_cal", asked()) == ("So <tool_cal", "", [])
    assert everywhere(cls, tokens, CALL.removesuffix("\n</tool_call>"), asked()) == ("", "", OSLO)


@both
def test_a_marker_that_a_stop_string_cuts_is_text(compose):
    tokens = tokenizer("hermes")
    parser = compose("toolglot_hermes", None, tokens)(tokens, asked().tools)
    said = Said()

    said.add(parser.parse_delta("So <tool_", encoded(tokens, "So <tool_call>"), asked(), [0], finished=True))

    assert said.parts() == ("So <tool_", "", [])


@both
def test_a_call_that_the_token_limit_cuts_is_told_as_far_as_it_came(compose):
    tokens = tokenizer("hermes")
    text = CALL[: CALL.index('lo"}')]
    ids = encoded(tokens, text)
    parser = compose("toolglot_hermes", None, tokens)(tokens, asked().tools)

    said = streamed(parser, tokens, text, ids, range(1, len(ids)), asked(), end=False)

    assert [(name, arguments) for _, name, arguments in said.calls] == [("get_weather", '{"city": "Os')]
    assert said.content == ""


def test_an_opener_at_the_cut_is_no_text():
    tokens = tokenizer("hermes")
    cls = composed("toolglot_hermes", None, tokens)

    assert everywhere(cls, tokens, "Well.\n<tool_call>", asked(), end=False) == ("Well.", "", [])


def test_reasoning_that_is_not_asked_for_is_left_out():
    tokens = tokenizer("hermes")
    cls = composed("toolglot_hermes", "toolglot_hermes", tokens)

    said = everywhere(cls, tokens, f"<think>\nHm.\n</think>\n\n{CALL}", asked(include_reasoning=False))

    assert said == ("", "", OSLO)


def test_without_a_choice_of_calls_markup_is_text():
    tokens = tokenizer("hermes")
    cls = composed("toolglot_hermes", "toolglot_hermes", tokens)

    said = everywhere(cls, tokens, f"<think>\nHm.\n</think>\n\n{CALL}", asked(tool_choice="none"))

    assert said == (flat(CALL), "Hm.", [])


def test_reasoning_tokens_are_counted():
    tokens = tokenizer("hermes")
    parser = composed("toolglot_hermes", "toolglot_hermes", tokens)(tokens)
    ids = encoded(tokens, "<think>four</think>ok")

    assert parser.count_reasoning_tokens(ids) == 4
    parser.set_prompt_token_ids(encoded(tokens, "<think>\n"))
    assert parser.count_reasoning_tokens(ids[1:]) == 4


def test_special_tokens_that_are_markers_stay_in_the_text():
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine import EngineCoreRequest
    from vllm.v1.engine.detokenizer import IncrementalDetokenizer

    tokens = tokenizer("hermes")
    request = composed("toolglot_hermes", None, tokens)(tokens, asked().tools).adjust_request(asked())
    sampling = SamplingParams(skip_special_tokens=request.skip_special_tokens)
    core = EngineCoreRequest(
        request_id="1", prompt_token_ids=[0], mm_features=None, sampling_params=sampling, pooling_params=None,
        arrival_time=0.0, lora_request=None, cache_salt=None, data_parallel_rank=None,
    )  # fmt: skip
    detokenizer = IncrementalDetokenizer.from_new_request(tokens, core)
    detokenizer.update(encoded(tokens, CALL), False)

    assert detokenizer.get_next_output_text(finished=True, delta=False) == CALL


def accepts(request, tokens, text):
    """Whether the request's grammar lets the model write a text, compiled as vLLM compiles it."""
    import xgrammar

    info = xgrammar.TokenizerInfo.from_huggingface(tokens, vocab_size=len(tokens))
    compiled = xgrammar.GrammarCompiler(info).compile_structural_tag(request.structured_outputs.structural_tag)
    matcher = xgrammar.GrammarMatcher(compiled)
    return all(map(matcher.accept_token, [*encoded(tokens, text), tokens.eos_token_id]))


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get_weather"}}])
@both
def test_demanded_calls_have_a_structural_tag(compose, choice):
    tokens = tokenizer("hermes")
    cls = compose("toolglot_hermes", "toolglot_hermes", tokens)
    request = cls(tokens, asked().tools).adjust_request(asked(tool_choice=choice))

    assert accepts(request, tokens, CALL)
    assert not accepts(request, tokens, CALL.replace('"Oslo"', "3"))
    assert not accepts(request, tokens, "No.")
    assert accepts(request, tokens, f"{CALL}\n{CALL}") == (choice == "required")


def test_one_call_where_no_more_are_wanted():
    tokens = tokenizer("hermes")
    cls = composed("toolglot_hermes", None, tokens)
    request = cls(tokens, asked().tools).adjust_request(asked(tool_choice="required", parallel_tool_calls=False))

    assert accepts(request, tokens, CALL)
    assert not accepts(request, tokens, f"{CALL}\n{CALL}")


def test_free_calls_have_a_tag_where_a_tool_is_strict():
    strict = {**WEATHER, "function": {**WEATHER["function"], "strict": True}}
    tokens = tokenizer("hermes")
    cls = composed("toolglot_hermes", None, tokens)
    free = cls(tokens, asked().tools).adjust_request(asked())
    held = cls(tokens, asked().tools).adjust_request(asked(tools=[strict]))

    assert free.structured_outputs is None
    assert accepts(held, tokens, "No.")
    assert accepts(held, tokens, CALL)
    assert not accepts(held, tokens, CALL.replace('"Oslo"', "3"))


def test_the_level_that_a_format_recommends_is_the_default():
    tokens = tokenizer("kimi_k2")
    cls = composed("toolglot_kimi_k2", None, tokens)

    assert accepts(cls(tokens, asked().tools).adjust_request(asked()), tokens, "No.")


def test_calls_or_json_where_both_are_asked_for():
    strict = {**WEATHER, "function": {**WEATHER["function"], "strict": True}}
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "array", "maxItems": 0}}}
    tokens = tokenizer("hermes")
    parser = composed("toolglot_hermes", None, tokens)(tokens)
    request = parser.adjust_request(asked(tools=[strict], response_format=schema))

    assert accepts(request, tokens, CALL)
    assert accepts(request, tokens, "[]")
    assert not accepts(request, tokens, "No.")


def test_vllms_switch_leaves_calls_free(monkeypatch):
    monkeypatch.setenv("VLLM_ENFORCE_STRICT_TOOL_CALLING", "0")
    tokens = tokenizer("hermes")
    cls = composed("toolglot_hermes", None, tokens)
    request = cls(tokens, asked().tools).adjust_request(asked(tool_choice="required"))

    assert request.structured_outputs is None
    assert everywhere(cls, tokens, CALL, request) == ("", "", OSLO)


def test_a_format_that_the_tokenizer_describes():
    field = {"open": "<tool_call>", "close": "</tool_call>", "repeats": True, "content": "json"}
    transform = {"type": "function", "function": "{content}"}
    tokens = copy.copy(tokenizer("hermes"))
    tokens.response_template = {"fields": {"tool_calls": {**field, "transform": transform}}}

    assert everywhere(composed("toolglot_hf", None, tokens), tokens, CALL, asked()) == ("", "", OSLO)


def test_a_schema_that_cannot_be_held_to_is_refused():
    from vllm.exceptions import VLLMValidationError

    function = {"name": "f", "strict": True, "parameters": {"properties": {"a": {"uniqueItems": True}}}}
    tokens = tokenizer("hermes")
    parser = composed("toolglot_hermes", None, tokens)(tokens)

    with pytest.raises(VLLMValidationError, match="tool 'f': it is strict") as refused:
        parser.adjust_request(asked(tools=[{"type": "function", "function": function}], tool_choice="required"))
    assert refused.value.parameter == "tools[0].function.parameters"


def test_reasoning_is_over_where_the_grammar_may_begin():
    tokens = tokenizer("hermes")
    parser = composed("toolglot_hermes", "toolglot_hermes", tokens)(tokens).reasoning_parser
    text = encoded(tokens, "<think>so</think>")

    assert not parser.is_reasoning_end_streaming(text[:-1], text[:-1])
    assert parser.is_reasoning_end_streaming(text, text[-1:])
    assert parser.extract_content_ids([*text, 1, 2]) == [1, 2]
    assert parser.is_reasoning_end(encoded(tokens, "<think>\n\n</think>\n\n"))
    assert not parser.is_reasoning_end(encoded(tokens, "assistant: "))


def test_reasoning_is_over_where_its_end_is_spelled():
    tokens = tokenizer()
    parser = composed("toolglot_hermes", "toolglot_hermes", tokens)(tokens).reasoning_parser
    text = encoded(tokens, "<think>so</think>")

    assert not parser.is_reasoning_end_streaming(text[:-1], text[-2:-1])
    assert parser.is_reasoning_end_streaming(text, text[-1:])


def test_responses():
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

    function = {"type": "function", **WEATHER["function"]}
    earlier = {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"}
    request = ResponsesRequest(model="m", input=[earlier], tools=[function], tool_choice="required", stream=True)
    tokens = tokenizer("kimi_k2")
    cls = composed("toolglot_kimi_k2", None, tokens)
    request = cls(tokens, request.tools).adjust_request(request)
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
        '{"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>'
    )
    ids = encoded(tokens, text)

    said = streamed(cls(tokens, request.tools), tokens, text, ids, [5, 70], request)

    assert accepts(request, tokens, text)
    assert [(call_id, name) for call_id, name, _ in said.calls] == [("functions.get_weather:1", "get_weather")]


def test_a_parser_without_reasoning_is_no_reasoning_parser():
    with pytest.raises(TypeError, match="declares no reasoning"):
        composed(None, "toolglot_jamba", tokenizer())


def test_the_tokenizer_of_mistral_common(tmp_path):
    from importlib.resources import files

    from vllm.tokenizers.mistral import MistralTokenizer

    vocabulary = files("mistral_common") / "data" / "tekken_240911.json"
    (tmp_path / "tekken.json").write_bytes(vocabulary.read_bytes())
    tokens = MistralTokenizer.from_pretrained(str(tmp_path))
    cls = composed("toolglot_mistral", "toolglot_mistral", tokens)
    opener = dict(zip(tokens.all_special_tokens, tokens.all_special_ids, strict=True))["[TOOL_CALLS]"]
    ids = [opener, *encoded(tokens, '[{"name": "get_weather", "arguments": {"city": "Oslo"}}]')]
    request = cls(tokens, asked().tools).adjust_request(asked(tool_choice="required"))

    said, parser = Said(), cls(tokens, request.tools)
    for number in ids:
        text = tokens.decode([number], skip_special_tokens=False)
        said.add(parser.parse_delta(text, [number], request, [1], finished=False))
    said.add(parser.parse_delta("", [tokens.eos_token_id], request, [1], finished=True))

    assert said.parts() == ("", "", OSLO)
    assert re.fullmatch("[A-Za-z0-9]{9}", said.calls[0][0])
    assert request.skip_special_tokens is False
    assert f'{{"type": "token", "token": {opener}}}' in request.structured_outputs.structural_tag
