"""What each template writes, to the letter: markers, roles, the ends of turns, where tools and results go."""

from __future__ import annotations

import re
from typing import Any

import pytest

import toolglot_templates

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "description": "Does.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "string", "description": 'An "a".', "enum": ["x", "y"]},
                    "b": {"type": "array", "items": {"type": "integer"}},
                    "c": {"type": ["boolean", "null"], "default": None},
                    "d": {"type": "object", "properties": {"e": {"type": "number"}}, "required": ["e"]},
                },
                "required": ["a"],
            },
        },
    },
    {"type": "function", "function": {"name": "g"}},
]
SYSTEM = {"role": "system", "content": "Brief."}
USER = {"role": "user", "content": "Hi"}
CALLS = [
    {"id": "call_abcdefgh0", "type": "function", "function": {"name": "f", "arguments": {"a": "é", "b": True}}},
    {"id": "call_abcdefgh1", "type": "function", "function": {"name": "g", "arguments": {}}},
]
CONVERSATION = [
    USER,
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "content": "1", "tool_call_id": "call_abcdefgh0"},
    {"role": "tool", "content": "2", "tool_call_id": "call_abcdefgh1"},
    {"role": "assistant", "content": "Fine."},
    {"role": "user", "content": "So?"},
]

CHATML = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n{calls}<|im_end|>\n{results}"
CHATML += "<|im_start|>assistant\nFine.<|im_end|>\n<|im_start|>user\nSo?<|im_end|>\n<|im_start|>assistant\n"
LLAMA3 = "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
LLAMA3 += "<|start_header_id|>assistant<|end_header_id|>\n\n{calls}<|eot_id|>"
LLAMA3 += "<|start_header_id|>ipython<|end_header_id|>\n\n{one}<|eot_id|>"
LLAMA3 += "<|start_header_id|>ipython<|end_header_id|>\n\n{two}<|eot_id|>"
LLAMA3 += "<|start_header_id|>assistant<|end_header_id|>\n\nFine.<|eot_id|>"
LLAMA3 += "<|start_header_id|>user<|end_header_id|>\n\nSo?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
DATED = "<BOS><|start_header_id|>system<|end_header_id|>\n\n"
DATED += "Cutting Knowledge Date: December 2023\nToday Date: D\n\n<|eot_id|>"
LLAMA4 = "<BOS><|header_start|>user<|header_end|>\n\nHi<|eot|>"
LLAMA4 += "<|header_start|>assistant<|header_end|>\n\n{calls}<|eot|>"
LLAMA4 += '<|header_start|>ipython<|header_end|>\n\n"1"<|eot|><|header_start|>ipython<|header_end|>\n\n"2"<|eot|>'
LLAMA4 += "<|header_start|>assistant<|header_end|>\n\nFine.<|eot|><|header_start|>user<|header_end|>\n\nSo?<|eot|>"
LLAMA4 += "<|header_start|>assistant<|header_end|>\n\n"
ARRAY = '[{"name": "f", "arguments": {"a": "é", "b": true}}, {"name": "g", "arguments": {}}]'
PARAMETERS = ('{"name": "f", "parameters": {"a": "é", "b": true}}', '{"name": "g", "parameters": {}}')
PYTHON = '[f(a="é", b=True), g()]'
OUTPUTS = {"one": '{"output": "1"}', "two": '{"output": "2"}'}
RESPONSES = "<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>"
MISTRAL = "<BOS>[INST] Hi[/INST][TOOL_CALLS] "
MISTRAL += '[{"name": "f", "arguments": {"a": "é", "b": true}, "id": "abcdefgh0"}, '
MISTRAL += '{"name": "g", "arguments": {}, "id": "abcdefgh1"}]<EOS>'
MISTRAL += '[TOOL_RESULTS] {"content": "1", "call_id": "abcdefgh0"}[/TOOL_RESULTS]'
MISTRAL += '[TOOL_RESULTS] {"content": "2", "call_id": "abcdefgh1"}[/TOOL_RESULTS] Fine.<EOS>[INST] So?[/INST]'
DEEPSEEK_V3 = "<BOS><｜User｜>Hi<｜Assistant｜><｜tool▁calls▁begin｜>"
DEEPSEEK_V3 += '<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a": "é", "b": true}\n```<｜tool▁call▁end｜>\n'
DEEPSEEK_V3 += "<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜>"
DEEPSEEK_V3 += "<｜tool▁calls▁end｜><｜end▁of▁sentence｜><｜tool▁outputs▁begin｜>"
DEEPSEEK_V3 += "<｜tool▁output▁begin｜>1<｜tool▁output▁end｜>\n<｜tool▁output▁begin｜>2<｜tool▁output▁end｜>"
DEEPSEEK_V3 += "<｜tool▁outputs▁end｜>Fine.<｜end▁of▁sentence｜><｜User｜>So?<｜Assistant｜>"

WRITTEN = {
    "hermes": CHATML.format(
        calls='<tool_call>\n{"name": "f", "arguments": {"a": "é", "b": true}}\n</tool_call>\n'
        '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>',
        results=f"{RESPONSES}<|im_end|>\n",
    ),
    "mistral": MISTRAL,
    "mistral_parallel": MISTRAL,
    "llama3.1_json": DATED + LLAMA3.format(calls="; ".join(PARAMETERS), **OUTPUTS),
    "llama3.2_json": DATED + LLAMA3.format(calls="; ".join(PARAMETERS), **OUTPUTS),
    "llama3.2_pythonic": DATED + LLAMA3.format(calls=PYTHON, **OUTPUTS),
    "llama4_json": LLAMA4.format(calls="".join(PARAMETERS)),
    "llama4_pythonic": LLAMA4.format(calls=PYTHON),
    "granite": "<|start_of_role|>user<|end_of_role|>Hi<|end_of_text|>\n"
    f"<|start_of_role|>assistant<|end_of_role|><|tool_call|>{ARRAY}<|end_of_text|>\n"
    "<|start_of_role|>tool_response<|end_of_role|>1<|end_of_text|>\n"
    "<|start_of_role|>tool_response<|end_of_role|>2<|end_of_text|>\n"
    "<|start_of_role|>assistant<|end_of_role|>Fine.<|end_of_text|>\n"
    "<|start_of_role|>user<|end_of_role|>So?<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
    "granite_20b_fc": "<BOS>\nUSER: Hi\n"
    'ASSISTANT: <function_call> {"name": "f", "arguments": {"a": "é", "b": true}}\n'
    '<function_call> {"name": "g", "arguments": {}}\n'
    "<|endoftext|><function_response> 1<function_response> 2\n"
    "ASSISTANT: Fine.<|endoftext|>\nUSER: So?\nASSISTANT: ",
    "internlm2_tool": "<BOS>"
    + CHATML.format(
        calls="".join(f"<|action_start|><|plugin|>\n{call}<|action_end|>" for call in PARAMETERS),
        results="<|im_start|>environment name=<|plugin|>\n1<|im_end|>\n"
        "<|im_start|>environment name=<|plugin|>\n2<|im_end|>\n",
    ),
    "xlam_llama": "<BOS>" + LLAMA3.format(calls=ARRAY, one="1", two="2"),
    "xlam_qwen": CHATML.format(calls=ARRAY, results="<|im_start|>tool\n1<|im_end|>\n<|im_start|>tool\n2<|im_end|>\n"),
    "deepseekv3": DEEPSEEK_V3,
    "deepseekr1": DEEPSEEK_V3,
    "deepseekv31": "<BOS><｜User｜>Hi<｜Assistant｜></think><｜tool▁calls▁begin｜>"
    '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": "é", "b": true}<｜tool▁call▁end｜>'
    "<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
    "<｜tool▁output▁begin｜>1<｜tool▁output▁end｜><｜tool▁output▁begin｜>2<｜tool▁output▁end｜>"
    "Fine.<｜end▁of▁sentence｜><｜User｜>So?<｜Assistant｜></think>",
    "functiongemma": "<BOS><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n"
    "<start_function_call>call:f{a:<escape>é<escape>,b:true}<end_function_call>"
    "<start_function_call>call:g{}<end_function_call>"
    "<start_function_response>response:f{value:<escape>1<escape>}<end_function_response>"
    "<start_function_response>response:g{value:<escape>2<escape>}<end_function_response>"
    "Fine.<end_of_turn>\n<start_of_turn>user\nSo?<end_of_turn>\n<start_of_turn>model\n",
    "apertus": "<BOS><|system_start|>You are Apertus, a helpful assistant.<|system_end|>"
    "<|developer_start|>Deliberation: disabled\nTool Capabilities: disabled<|developer_end|>"
    '<|user_start|>Hi<|user_end|><|assistant_start|><|tools_prefix|>[{"f": {"a": "é", "b": true}}, {"g": {}}]'
    "<|tools_suffix|>[1, 2]Fine.<|assistant_end|><|user_start|>So?<|user_end|><|assistant_start|>",
    "toolace": "<BOS>" + LLAMA3.format(calls=PYTHON, **OUTPUTS),
    "olmo3": "<|im_start|>system\nYou are a helpful assistant. You have no functions to call. "
    "<functions></functions><|im_end|>\n"
    + CHATML.format(
        calls='<function_calls>\nf(a="é", b=true)\ng()\n</function_calls>',
        results="<|im_start|>environment\n1<|im_end|>\n<|im_start|>environment\n2<|im_end|>\n",
    ),
    "gemma4": "<BOS><|turn>user\nHi<turn|>\n<|turn>model\n"
    '<|tool_call>call:f{a:<|"|>é<|"|>,b:true}<tool_call|><|tool_call>call:g{}<tool_call|>'
    '<|tool_response>response:f{value:<|"|>1<|"|>}<tool_response|>'
    '<|tool_response>response:g{value:<|"|>2<|"|>}<tool_response|>'
    "Fine.<turn|>\n<|turn>user\nSo?<turn|>\n<|turn>model\n<|channel>thought\n<channel|>",
    "qwen3coder": CHATML.format(
        calls="<tool_call>\n<function=f>\n<parameter=a>\né\n</parameter>\n<parameter=b>\ntrue\n</parameter>\n"
        "</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call>",
        results=f"{RESPONSES}\n<|im_end|>\n",
    ),
}

GEMMA_TOOLS = (
    "declaration:f{description:'Does.',parameters:{properties:{"
    "a:{description:'An \"a\".',enum:['x','y'],type:'STRING'},b:{items:{type:'INTEGER'},type:'ARRAY'},"
    "c:{default:null,type:['BOOLEAN','NULL']},d:{properties:{e:{type:'NUMBER'}},required:['e'],type:'OBJECT'}},"
    "required:['a'],type:'OBJECT'}}CLOSE"
    "OPENdeclaration:g{description:''}CLOSE"
)
LISTED = {
    "functiongemma": "<start_function_declaration>"
    + GEMMA_TOOLS.replace("'", "<escape>")
    .replace("OPEN", "<start_function_declaration>")
    .replace("CLOSE", "<end_function_declaration>")
    + "<end_of_turn>\n<start_of_turn>user\n",
    "gemma4": "<BOS><|turn>system\nBrief.<|tool>"
    + GEMMA_TOOLS.replace("'", '<|"|>').replace("OPEN", "<|tool>").replace("CLOSE", "<tool|>")
    + "<turn|>\n<|turn>user\n",
    "apertus": '\nTool Capabilities:\n// Does.\ntype f = (_: {\n// An "a".\na: "x" | "y",\nb?: number[],\n'
    "c?: boolean | null, // default: null,\nd?: {\ne: number\n}\n}) => any;\ntype g = () => any;<|developer_end|>",
    "granite_20b_fc": "<BOS>SYSTEM: Brief.\n<|function_call_library|>\n"
    '{"name": "f", "description": "f(a: str, b: list[int], c: bool | None, d: dict) - Does.\\n\\n    Args:\\n'
    '        a(str): An \\"a\\".\\n        b(list[int])\\n        c(bool | None)\\n        d(dict)", "parameters": {',
    "qwen3coder": "<tools>\n<function>\n<name>f</name>\n<description>Does.</description>\n<parameters>\n<parameter>\n"
    '<name>a</name>\n<type>string</type>\n<description>An "a".</description>\n<enum>["x", "y"]</enum>\n</parameter>\n',
    "deepseekv31": "\n### f\nDescription: Does.\n\nParameters: {",
    "granite": '<|end_of_text|>\n<|start_of_role|>available_tools<|end_of_role|>[\n    {\n        "type": "function"',
    "internlm2_tool": '<|im_start|>system\nBrief.<|im_end|>\n<|im_start|>system name=<|plugin|>\n[{"name": "f", ',
    "mistral": '<BOS>[AVAILABLE_TOOLS] [{"type": "function", "function": {"name": "f", "description": "Does.", ',
    "olmo3": '<functions>[{"name": "f", "description": "Does.", "parameters": {',
}


def test_a_conversation(family, render) -> None:
    assert render(*CONVERSATION, prompt=True, date_string="D") == WRITTEN[family.name]


def test_tools(family, render) -> None:
    written = render(SYSTEM, USER, tools=TOOLS, prompt=True)

    assert LISTED.get(family.name, "Brief.") in written


def test_what_all_need_to_read_json_is_the_same_in_all() -> None:
    """A template is one file, for engines that take one file; so this macro is repeated, and kept alike."""
    texts = [toolglot_templates.read(name) for name in toolglot_templates.names()]
    macros = [re.search(r"macro unescape.*?endmacro", text, re.DOTALL) for text in texts]

    assert len({found[0] for found in macros if found}) == 1


# What belongs to one family


def calls(**fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": CALLS, **fields}


def one_call(arguments: Any, **fields: Any) -> dict[str, Any]:
    return calls(tool_calls=[{"type": "function", "function": {"name": "f", "arguments": arguments}, **fields}])


@pytest.mark.parametrize("name", ["mistral", "mistral_parallel"])
@pytest.mark.parametrize(
    ("given", "kept"), [("call_123456789abc", "456789abc"), ("123456789", "123456789"), ("x", "x")]
)
def test_mistral_knows_the_last_nine_characters_of_an_id(given: str, kept: str, name: str, write) -> None:
    result = {"role": "tool", "content": 'said "so"', "tool_call_id": given}

    written = write(name, USER, one_call({}, id=given), result)

    assert f'"arguments": {{}}, "id": "{kept}"}}]<EOS>' in written
    assert f'[TOOL_RESULTS] {{"content": "said \\"so\\"", "call_id": "{kept}"}}[/TOOL_RESULTS]' in written


def test_mistral_writes_no_id_where_there_is_none(write) -> None:
    written = write("mistral", USER, one_call({}), {"role": "tool", "content": "1"})

    assert written.endswith('[{"name": "f", "arguments": {}}]<EOS>[TOOL_RESULTS] {"content": "1"}[/TOOL_RESULTS]')


def test_mistral_has_tools_and_the_system_message_at_the_last_question(write) -> None:
    written = write("mistral", SYSTEM, USER, {"role": "assistant", "content": "Yes?"}, USER, calls(), tools=TOOLS)

    assert written.startswith("<BOS>[INST] Hi[/INST] Yes?<EOS>[AVAILABLE_TOOLS] [")
    assert "[/AVAILABLE_TOOLS][INST] Brief.\n\nHi[/INST][TOOL_CALLS]" in written


def test_mistral_takes_a_lone_system_message_for_a_question(write) -> None:
    assert write("mistral", SYSTEM) == "<BOS>[INST] Brief.[/INST]"


def test_mistral_parallel_asks_for_parallel_calls_where_there_are_tools(write) -> None:
    asked, plain = (write(name, SYSTEM, USER, tools=TOOLS) for name in ("mistral_parallel", "mistral"))

    assert "in one JSON list" in asked
    assert len(asked) > len(plain)
    assert asked.endswith("\n\nBrief.\n\nHi[/INST]")
    assert write("mistral_parallel", SYSTEM, USER) == write("mistral", SYSTEM, USER)


@pytest.mark.parametrize("name", ["llama3.1_json", "llama3.2_json", "llama3.2_pythonic"])
def test_llama_3_is_told_the_date(name: str, write) -> None:
    assert re.search(r"\nToday Date: [0-9]{2} \w+ [0-9]{4}\n\n", write(name, USER))
    assert "\nToday Date: 1 May 2030\n\n" in write(name, USER, date_string="1 May 2030")


@pytest.mark.parametrize("name", ["thinking", "enable_thinking"])
def test_deepseek_v31_is_let_reason(name: str, write) -> None:
    assert write("deepseekv31", USER, prompt=True, **{name: True}).endswith("<｜Assistant｜><think>")


@pytest.mark.parametrize("name", ["deepseekv3", "deepseekr1", "deepseekv31"])
def test_deepseek_keeps_no_reasoning_and_all_system_messages_first(name: str, write) -> None:
    answer = {"role": "assistant", "content": "<think>Hm.</think>Fine."}
    written = write(name, SYSTEM, USER, answer, {"role": "system", "content": "Long."})

    assert written.startswith("<BOS>Brief.\n\nLong.<｜User｜>")
    assert "Hm." not in written
    assert written.endswith("Fine.<｜end▁of▁sentence｜>")


@pytest.mark.parametrize(
    ("name", "opened"), [("gemma4", "<|turn>system\n<|think|>\n"), ("apertus", "Deliberation: enabled\n")]
)
def test_enable_thinking_is_said(name: str, opened: str, write) -> None:
    assert opened in write(name, USER, prompt=True, enable_thinking=True)
    assert opened not in write(name, USER, prompt=True)


@pytest.mark.parametrize("name", ["gemma4", "olmo3"])
def test_reasoning_is_written_after_the_last_question_only(name: str, write) -> None:
    messages = [USER, calls(reasoning_content="Hm."), *CONVERSATION[2:4]]

    assert "Hm." in write(name, *messages)
    assert "Hm." not in write(name, *messages, USER)


@pytest.mark.parametrize(
    ("name", "end"), [("functiongemma", "<end_of_turn>\n"), ("gemma4", "<turn|>\n"), ("apertus", "<|assistant_end|>")]
)
def test_a_turn_that_waits_for_results_ends_where_the_user_speaks(name: str, end: str, write) -> None:
    waiting = write(name, USER, calls())

    assert write(name, USER, calls(), prompt=True) == waiting
    assert write(name, USER, calls(), USER).startswith(waiting + end)


@pytest.mark.parametrize("name", ["functiongemma", "gemma4"])
def test_gemma_names_the_function_of_a_result(name: str, write) -> None:
    by_id = {"role": "tool", "content": "1", "tool_call_id": "call_abcdefgh1"}

    assert "response:g{value:" in write(name, USER, calls(), by_id)
    assert "response:f{value:" in write(name, USER, calls(), {"role": "tool", "content": "1", "name": "f"})
    assert "response:unknown{value:" in write(name, USER, calls(), {"role": "tool", "content": "1"})


def test_gemma_marks_keys_that_are_no_plain_words(write) -> None:
    written = write("gemma4", USER, one_call({"a": {"b c": 1, "d:e": 2, "": 3, " f": 4}}))

    assert '{a:{b c:1,<|"|>d:e<|"|>:2,<|"|><|"|>:3,<|"|> f<|"|>:4}}' in written


def test_qwen_keeps_json_as_it_was_given(write) -> None:
    written = write("qwen3coder", USER, one_call('{"a" : {"k":[1,  2], "\\u00e9": "\\""} ,\n"b":"\\u00e9"}'))

    assert '<parameter=a>\n{"k":[1,  2], "\\u00e9": "\\""}\n</parameter>\n' in written
    assert "<parameter=b>\né\n</parameter>\n</function>" in written
