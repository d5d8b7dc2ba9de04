"""What a tokenizer's ``response_template`` becomes: the messages of transformers' own reader, or a refusal."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolglot import PluginError, load_parser
from toolglot.testing import load_cases
from toolglot_response_template.patterns import MisfitError, pattern_templates

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def descriptions(request):
    """The descriptions of the plugin file, without what it registers."""
    text = (HERE / "descriptions.py").read_text("utf-8").partition("for name, description")[0]
    found = {}
    exec(compile(text, "descriptions.py", "exec"), found)
    return found["DESCRIPTIONS"]


def parser_of(description):
    return load_parser("hf", tokenizer=SimpleNamespace(response_template=description, added_tokens_decoder={}))


CASES = [
    pytest.param(path.name, case, id=f"{path.name}-{case.id}")
    for path in sorted((HERE / "cases").iterdir())
    for case in load_cases(path)
    if not case.reasoning_open
]


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_transformers_reads_the_same(descriptions, kind, case):
    chat_parsing = pytest.importorskip("transformers.utils.chat_parsing")
    try:
        theirs = chat_parsing.parse_response(case.raw_output, descriptions[kind], prefix="", tools=list(case.tools))
    except ValueError:
        pytest.skip("transformers raises: the arguments are not as the description says")
    message = parser_of(descriptions[kind]).read(case.output, case.request)

    calls = theirs.get("tool_calls") or []
    assert [call.name for call in message.tool_calls] == [call["function"]["name"] for call in calls]
    if kind != "elements":  # there theirs takes types from what values look like, and whitespace off strings
        arguments = [json.loads(call.arguments) for call in message.tool_calls]
        assert arguments == [call["function"]["arguments"] for call in calls]
    thought = next((theirs[name] for name in ("thinking", "reasoning_content", "reasoning") if name in theirs), None)
    assert (message.reasoning or "").strip() == (thought or "")
    if "content" in theirs:
        assert (message.content or "").split() == theirs["content"].split()


def test_the_tokens_of_the_tokenizer_are_markers(descriptions):
    tokens = {1: SimpleNamespace(content="<tool_call>"), 2: SimpleNamespace(content="</tool_call>")}
    tokenizer = SimpleNamespace(response_template=descriptions["json"], added_tokens_decoder=tokens)

    assert load_parser("hf", tokenizer=tokenizer).marker_ids == {1, 2}


@pytest.mark.parametrize("tokenizer", [None, {"<tool_call>": 1}, SimpleNamespace(response_template=None)])
def test_without_a_description_there_is_no_parser(tokenizer):
    with pytest.raises(PluginError, match="needs a tokenizer that carries a `response_template`"):
        load_parser("hf", tokenizer=tokenizer)


def change(path, value):
    """A change of the description ``json``, as a path and what stands there then (None: nothing)."""

    def apply(description):
        *before, last = path.split(".")
        place = description
        for key in before:
            place = place[key]
        if value is None:
            del place[last]
        else:
            place[last] = value

    return apply


CALLS = "fields.tool_calls"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ([change("version", 2)], "version is 2"),
        ([change(CALLS, None)], "no field `tool_calls`"),
        ([change("fields.citations", {"open": "[", "close": "]"})], "no place for the field `citations`"),
        ([change("fields.content", {"content": "json"})], "`content` is not plain text"),
        ([change("fields.thinking.close", None)], "`thinking` is not between two delimiters"),
        ([change(f"{CALLS}.content", "kv-lines")], "written as 'kv-lines'"),
        ([change(f"{CALLS}.content_args", {"allow_non_json": True})], "not plain JSON"),
        ([change(f"{CALLS}.transform", {"call": "{content}"})], "makes no tool call"),
        ([change(f"{CALLS}.transform.function", {"name": "{content.f.name}", "arguments": "{content.a}"})], "member"),
        ([change(f"{CALLS}.transform.function", {"name": "{name}", "arguments": "{content.a}"})], "member"),
        ([change(f"{CALLS}.transform.function", {"name": "f", "arguments": "{content}"})], "says 'f'"),
        (
            [change(f"{CALLS}.transform.function", {"name": "{name}", "arguments": "{content}"})],
            "not behind the opener",
        ),
        (
            [
                change(f"{CALLS}.open", None),
                change(f"{CALLS}.open_pattern", r"<call (?P<kind>\w+) (?P<name>\w+)>"),
                change(f"{CALLS}.transform.function", {"name": "{name}", "arguments": "{content}"}),
            ],
            "`kind`",
        ),
        (
            [change(f"{CALLS}.close", None), change(f"{CALLS}.close_pattern", r".*?</tool_call>")],
            r"no spelling from '\.\*",
        ),
    ],
)
def test_what_no_wire_format_says_is_refused(descriptions, changed, reason):
    description = copy.deepcopy(descriptions["json"])
    for apply in changed:
        apply(description)

    with pytest.raises(PluginError, match=r"cannot read this model's `response_template`: .*" + reason):
        parser_of(description)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("<a>", ("<a>",)),
        (r"<\|a\|>\s*b", ("<|a|>~b",)),
        (r"\n?</a>", ("~</a>",)),
        (r"a\s+b[ \n]*c", ("a b~c",)),
        (r"(?:<a>|<b>)?c", ("c", "<a>c", "<b>c")),
        (r"(?:^|<think>\s*)", ("<think>~",)),
        (r"<f=(?P<name>[^>(]+?)>", ("<f={name}>",)),
        (r"ab?\{", ("a{{", "ab{{")),
        (r"</a>|$", ("</a>",)),
    ],
)
def test_patterns_that_are_spellings(pattern, found):
    assert pattern_templates(pattern) == found


@pytest.mark.parametrize(
    "pattern", ["a.b", "a+", "[^<]*a", r"\d", "(?=a)", "(?:a)*", "(a", "a)", "~", "[ab]", "(?:a|b)" * 6, "a{2}", "\\"]
)
def test_patterns_that_are_none(pattern):
    with pytest.raises(MisfitError):
        pattern_templates(pattern)
