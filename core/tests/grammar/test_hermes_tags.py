"""Tags of the Hermes format under a model that picks any allowed token: whatever it writes is calls that validate."""

import json
import re

import jsonschema
import pytest
import torch

from toolglot.grammar import Compiler
from toolglot.structural_tag import (
    AnyText,
    ConstString,
    Format,
    JsonSchema,
    Optional,
    Or,
    Regex,
    Sequence,
    StructuralTag,
    Tag,
    TagsWithSeparator,
    Token,
    TokenTriggeredTags,
    TriggeredTags,
)
from toolglot.tokens import Detokenizer

SAMPLES = 200
LIMIT = 600
TOOLS = {
    "get_weather": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "add": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "boolean"}}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    "note": {"type": "object"},  # as for a tool that is not strict
}
OPENER, CLOSER, THINK, UNTHINK = "<tool_call>", "</tool_call>", "<think>", "</think>"
END = Regex(r"[ \n]{0,2}")
BREAK = Regex(r"\n{0,2}")


def arguments(name: str) -> Format:
    return JsonSchema(json_schema=TOOLS[name], max_whitespace_cnt=2)


class TextMarkers:
    """The markers are ordinary text to the tokenizer."""

    def __init__(self, tokenizer):
        self.reasoning = Sequence((Tag(THINK, AnyText(excludes=(OPENER,)), UNTHINK), BREAK))
        self.open_reasoning = Sequence((Tag("", AnyText(excludes=(OPENER,)), UNTHINK), BREAK))
        self.none = AnyText(excludes=(OPENER,))

    def calls(self, names):
        return tuple(Tag(f'{OPENER}\n{{"name": "{n}", "arguments": ', arguments(n), f"}}\n{CLOSER}") for n in names)

    def auto(self, names, **kwargs):
        return TriggeredTags((OPENER,), self.calls(names), excludes=(THINK,), **kwargs)


class TokenMarkers:
    """The markers are added tokens."""

    def __init__(self, tokenizer):
        self.opener, self.closer, think, unthink = (
            Token(tokenizer.token_to_id(text)) for text in (OPENER, CLOSER, THINK, UNTHINK)
        )
        self.reasoning = Sequence((Tag(think, AnyText(), unthink), BREAK))
        self.open_reasoning = Sequence((AnyText(), unthink, BREAK))
        self.none = AnyText()

    def calls(self, names):
        bodies = (
            Sequence((ConstString(f'\n{{"name": "{n}", "arguments": '), arguments(n), ConstString("}\n")))
            for n in names
        )
        return (Tag(self.opener, Or(tuple(bodies)), self.closer),)

    def auto(self, names, **kwargs):
        return TokenTriggeredTags((self.opener.token,), self.calls(names), **kwargs)


def only_calls(markers, names, before=(), **kwargs):
    return Sequence((*before, TagsWithSeparator(markers.calls(names), "\n", at_least_one=True, **kwargs), END))


class Model:
    """Picks uniformly among the allowed tokens; the ones that close something weigh more with every token."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.stops = frozenset(tokenizer.token_to_id(text) for text in ("<|endoftext|>", "<|im_end|>"))
        self.size = tokenizer.get_vocab_size() + 9
        self.compiler = Compiler(tokenizer, vocab_size=self.size, stop_token_ids=self.stops)
        texts = [tokenizer.decode([token], skip_special_tokens=False) for token in range(self.size)]
        closing = ('"', "}", "]", "<", "\n")
        self.closers = torch.tensor([text.startswith(closing) for text in texts], dtype=torch.float32)
        self.closers[list(self.stops)] = 1.0

    def write(self, compiled, seed: int, start: str) -> list[int] | None:
        """The token ids of one output that begins with ``start``, without the stop token; None if it found no end."""
        rng = torch.Generator().manual_seed(seed)
        matcher = compiled.matcher()
        ids = list(self.tokenizer.encode(start).ids)
        assert all(matcher.accept(token) for token in ids)
        while len(ids) < LIMIT:
            logits = 1 + self.closers * (2 * len(ids))
            matcher.mask(logits)
            race = torch.empty_like(logits).exponential_(generator=rng)  # each is first in proportion to its weight
            token = int((logits / race).argmax())
            assert matcher.accept(token)
            if matcher.finished:
                assert token in self.stops
                return ids
            ids.append(token)
        return None

    def outputs(self, fmt: Format, repeat: int = SAMPLES, start: str = ""):
        """(text, ids) of the outputs that ended; most must."""
        compiled = self.compiler.compile(StructuralTag(fmt))
        ended = [ids for seed in range(repeat) if (ids := self.write(compiled, seed, start)) is not None]
        assert len(ended) > 0.9 * repeat
        return [self.spell(ids) for ids in ended]

    def spell(self, ids: list[int]) -> str:
        """The text; a marker that is a token is written between two U+E000 to tell it from the same text."""
        piece = Detokenizer(self.tokenizer).feed(ids)
        text = piece.text
        for offset, token in reversed(piece.marks):
            end = offset + len(self.tokenizer.id_to_token(token))
            text = f"{text[:offset]}\ue000{text[offset:end]}\ue000{text[end:]}"
        return text


@pytest.fixture(params=[TextMarkers, TokenMarkers], scope="module")
def setting(request, tokenizers):
    tokenizer = tokenizers(request.param is TokenMarkers)
    return request.param(tokenizer), Model(tokenizer)


def split(markers, text: str) -> tuple[list[tuple[str, object]], str]:
    """The calls, and the text with each call replaced by "#" (tokens read as their text then)."""
    edge = "\ue000" if isinstance(markers, TokenMarkers) else ""
    call = re.compile(rf"{edge}{OPENER}{edge}\n(.*?)\n{edge}{CLOSER}{edge}", re.DOTALL)
    calls = [json.loads(body) for body in call.findall(text)]
    assert all(list(each) == ["name", "arguments"] for each in calls)
    rest = call.sub("#", text)
    assert edge + OPENER + edge not in rest
    return [(each["name"], each["arguments"]) for each in calls], rest.replace("\ue000", "")


def check(calls, names=tuple(TOOLS)):
    for name, value in calls:
        assert name in names
        jsonschema.validate(value, TOOLS[name])


def test_required_writes_calls_and_nothing_else(setting):
    markers, model = setting
    seen = set()
    for text in model.outputs(only_calls(markers, TOOLS)):
        calls, rest = split(markers, text)
        check(calls)
        seen |= {name for name, _ in calls} | {len(calls)}
        assert re.fullmatch(r"#(\n#)*[ \n]{0,2}", rest), text
    assert {*TOOLS, 1, 2} <= seen


@pytest.mark.parametrize("opened", [False, True])
def test_required_may_reason_first(setting, opened):
    markers, model = setting
    before = markers.open_reasoning if opened else Optional(markers.reasoning)
    reasoned = 0
    for text in model.outputs(only_calls(markers, TOOLS, (before,))):
        calls, rest = split(markers, text)
        check(calls)
        pattern = rf"{'' if opened else f'({THINK}'}(?P<thought>.*?){UNTHINK}\n{{0,2}}{'' if opened else ')?'}"
        found = re.fullmatch(pattern + r"#(\n#)*[ \n]{0,2}", rest, re.DOTALL)
        assert found, text
        reasoned += found["thought"] is not None
    assert reasoned > SAMPLES / 10


@pytest.mark.parametrize("parallel", [True, False])
def test_named_writes_calls_of_that_tool(setting, parallel):
    markers, model = setting
    numbers = set()
    for text in model.outputs(only_calls(markers, ["add"], stop_after_first=not parallel)):
        calls, rest = split(markers, text)
        check(calls, ["add"])
        numbers.add(len(calls))
        assert re.fullmatch(r"#(\n#)*[ \n]{0,2}", rest), text
    assert (numbers == {1}) is not parallel


def test_required_without_parallel_calls_writes_one(setting):
    markers, model = setting
    for text in model.outputs(only_calls(markers, TOOLS, stop_after_first=True)):
        calls, rest = split(markers, text)
        check(calls)
        assert rest.rstrip(" \n") == "#"


def test_auto_writes_text_and_calls(setting):
    markers, model = setting
    shapes = set()
    for text in model.outputs(markers.auto(TOOLS)):
        calls, rest = split(markers, text)
        check(calls)
        shapes.add((bool(calls), bool(rest.strip("#"))))
    assert shapes >= {(False, True), (True, True)}


def test_auto_may_reason_first_and_calls_nothing_meanwhile(setting):
    markers, model = setting
    edge = "\ue000" if isinstance(markers, TokenMarkers) else ""
    thoughts = 0
    tag = Sequence((Optional(markers.reasoning), markers.auto(TOOLS)))
    for text in [*model.outputs(tag, SAMPLES // 2), *model.outputs(tag, SAMPLES // 2, THINK)]:
        thought, closer, answer = text.partition(edge + UNTHINK + edge)
        if text.startswith(edge + THINK + edge):
            thoughts += 1
            assert closer
            assert not split(markers, thought)[0]
            text = answer
        check(split(markers, text)[0])
    assert thoughts >= SAMPLES / 2 * 0.9


def test_auto_without_parallel_calls_ends_after_the_first(setting):
    markers, model = setting
    called = 0
    for text in model.outputs(Sequence((markers.auto(TOOLS, stop_after_first=True), END))):
        calls, rest = split(markers, text)
        check(calls)
        called += len(calls)
        assert len(calls) <= 1
        assert not calls or re.search(r"#[ \n]{0,2}$", rest)
    assert called


def test_none_writes_no_call(setting):
    markers, model = setting
    texts = model.outputs(markers.none)
    assert not any(split(markers, text)[0] for text in texts)
    assert any(len(text) > 20 for text in texts)


def test_arguments_hold_no_long_run_of_whitespace(setting):
    markers, model = setting
    for text in model.outputs(only_calls(markers, ["note"]), 50):
        bare = re.sub(r'"(\\.|[^"\\])*"', '""', text)
        assert not re.search(r"\s{4}", bare), text
