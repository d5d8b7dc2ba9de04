"""Formats as transformers' ``response_template``: read back, they say the same of what the models' templates write."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolglot import load_parser, parser_names
from toolglot.cli import main
from toolglot.errors import ExportError
from toolglot.formats import response_template
from toolglot.testing import load_cases

ROOT = Path(__file__).parents[1]
FOLDERS = {"hermes": ROOT / "plugins/hermes/tests/cases"}
FOLDERS |= {path.name: path for path in ROOT.glob("plugins/*/tests/cases/*") if path.name in parser_names()}
REFUSED = {
    "apertus": "calls stand in a section of their own",
    "deepseek_v3": "calls stand in a section of their own",
    "deepseek_v31": "calls stand in a section of their own",
    "deepseek_v32": "calls stand in a section of their own",
    "deepseek_v4": "calls stand in a section of their own",
    "deepseek_v41": "calls stand in a section of their own",
    "functiongemma": "arguments are written as no JSON",
    "generic": "calls are not written as a list in brackets",
    "gigachat3": "no marker stands behind a call",
    "granite": "no marker stands behind a call",
    "granite-20b-fc": "no marker stands behind a call",
    "hy_v3": "calls stand in a section of their own",
    "hy_v4": "calls stand in a section of their own",
    "inkling": "stands between the parts of a turn",
    "kimi_k2": "calls stand in a section of their own",
    "kimi_k3": "calls stand in a section of their own",
    "llama3_json": "calls are not written as a list in brackets",
    "llama4_json": "calls are not written as a list in brackets",
    "llama4_pythonic": "no marker stands before a call",
    "minicpm5": "the text of an argument says of which type it is",
    "minimax_m2": "calls stand in a section of their own",
    "minimax_m3": "calls stand in a section of their own",
    "mistral": "no marker stands behind a call",
    "muse_glimmer": "stands between the parts of a turn",
    "olmo3": "calls are not written as a list in brackets",
    "openai": "stands between the parts of a turn",
    "phi4_mini_json": "no marker stands behind a call",
    "pythonic": "no marker stands before a call",
    "step3": "calls stand in a section of their own",
    "xlam": "no marker stands before a call",
}
"""What stands against it."""


NAMES = sorted(FOLDERS.keys() - REFUSED.keys())
THEIRS_DIFFER = {
    "hunyuan_a13b-tool-chat-template-hunyuan-a13b-c2": "text outside of the markers of an answer is in no field",
    "seed_oss-bytedance-seed-oss-e7-two": "the template writes lists as Python does",
}
CALLS = [{"name": "move", "arguments": {"to": 'a <b> "c"', "by": 2, "tags": ["x"]}}, {"name": "stop", "arguments": {}}]
TYPES = {"to": {"type": "string"}, "by": {"type": "integer"}, "tags": {"type": "array"}}
TOOLS = [
    {"type": "function", "function": {"name": "move", "parameters": {"type": "object", "properties": TYPES}}},
    {"type": "function", "function": {"name": "stop"}},
]


def exported(name):
    return response_template(load_parser(name).plugin.form, start_anchor="assistant:")


def read_back(template):
    return load_parser("hf", tokenizer=SimpleNamespace(response_template=template, added_tokens_decoder={}))


def cases(name):
    """What the models' own templates write; internlm's write another key than is canonical."""
    found = [case for case in load_cases(FOLDERS[name]) if case.origin == "template" and not case.reasoning_open]
    return found if name != "internlm" else []


def parts(message):
    calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
    return calls, flat(message.content), flat(message.reasoning)


def flat(text):
    return " ".join((text or "").split())


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_written_is_refused_with_the_reason(name):
    with pytest.raises(ExportError, match=REFUSED[name]):
        exported(name)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_back_reads_the_same(name):
    parser, back = load_parser(name), read_back(exported(name))

    for case in cases(name):
        assert parts(back.read(case.output, case.request)) == parts(parser.read(case.output, case.request)), case.id
    written = parser.render(CALLS, tools=TOOLS)
    assert parts(back.parse(written, tools=TOOLS)) == parts(parser.parse(written, tools=TOOLS))


@pytest.mark.parametrize("name", NAMES)
def test_transformers_reads_the_same(name):
    chat_parsing = pytest.importorskip("transformers.utils.chat_parsing")
    parser, template = load_parser(name), exported(name)
    outputs = [(case.raw_output, case.tools) for case in cases(name) if case.id not in THEIRS_DIFFER]

    for output, tools in [*outputs, (parser.render(CALLS, tools=TOOLS), TOOLS)]:
        try:
            theirs = chat_parsing.parse_response(output, template, prefix="", tools=list(tools))
        except ValueError as error:  # JSON with None in it, or a closer in a string
            if "could not parse" not in str(error):
                raise
            continue
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in theirs.get("tool_calls") or ()]
        assert (calls, flat(theirs.get("content")), flat(theirs.get("thinking"))) == parts(
            parser.parse(output, tools=tools)
        )


def test_the_command_prints_the_template(capsys):
    assert (
        main(
            [
                "export",
                "response-template",
                "hermes",
                "--start-anchor",
                "<|im_start|>assistant\n",
                "--end",
                "<|im_end|>",
            ]
        )
        == 0
    )

    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out) == {
        "version": 1,
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "thinking": {"open": ["<think>"], "close": ["</think>"]},
            "tool_calls": {
                "open": "<tool_call>",
                "close": "</tool_call>",
                "repeats": True,
                "content": "json",
                "transform": {
                    "type": "function",
                    "function": {"name": "{content.name}", "arguments": "{content.arguments}"},
                },
            },
            "content": {"close": ["<|im_end|>"], "repeats": True, "join": ""},
        },
    }


def test_the_command_says_what_is_missing(capsys):
    assert main(["export", "response-template", "hermes"]) == 0
    assert "--start-anchor" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["response-template", "kimi_k2"],
            "parser 'kimi_k2' cannot be written as a response_template: calls stand in a",
        ),
        (["response-template", "hermes", "xlam"], "name one parser"),
        (["response-template", "hermess"], "did you mean hermes?"),
        (["response-template"], "name what is wanted (response-template or vllm-plugin), and the parser"),
        (["gbnf", "hermes"], "name what is wanted (response-template or vllm-plugin), and the parser"),
        (["vllm-plugin", "hermess"], "did you mean hermes?"),
    ],
)
def test_the_command_refuses(words, message, capsys):
    assert main(["export", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_plugin_file_for_vllm(capsys):
    assert main(["export", "vllm-plugin", "kimi_k2", "hermes"]) == 0

    text = capsys.readouterr().out
    assert "--tool-call-parser toolglot_kimi_k2" in text
    compile(text, "plugin.py", "exec")
    assert text.endswith('from toolglot_vllm import register\n\nregister(["kimi_k2", "hermes"])\n')
