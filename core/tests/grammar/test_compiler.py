"""What the masks allow and forbid, whatever the tag."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from toolglot.checkpoints import load_tokenizer, resolve
from toolglot.errors import GrammarError
from toolglot.grammar import Compiler, Matcher
from toolglot.structural_tag import (
    AnyText,
    AnyTokens,
    ConstString,
    Format,
    Grammar,
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
from toolglot.tokens.table import token_table

PADDING = 19
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TEXT_CALL = Tag(
    '<tool_call>\n{"name": "get_weather", "arguments": ', JsonSchema(json_schema=WEATHER), "}\n</tool_call>"
)


class Vocabulary:
    """A small tokenizer, its compiler, and logits wider than its vocabulary."""

    def __init__(self, tokenizer, stops=("<|endoftext|>", "<|im_end|>")):
        self.tokenizer = tokenizer
        self.size = tokenizer.get_vocab_size() + PADDING
        self.stops = {tokenizer.token_to_id(stop) for stop in stops}
        self.bytes = {text: token for token, text in enumerate(token_table(tokenizer).texts) if len(text) == 1}
        self.added = set(tokenizer.get_added_tokens_decoder())
        self.compiler = Compiler(tokenizer, vocab_size=self.size, stop_token_ids=self.stops)

    def __getitem__(self, text):
        return self.tokenizer.token_to_id(text)

    def matcher(self, fmt: Format, before: str | bytes = "") -> Matcher:
        matcher = self.compiler.compile(StructuralTag(fmt)).matcher()
        ids = [self.byte(byte) for byte in before] if isinstance(before, bytes) else self.ids(before)
        assert all(matcher.accept(token) for token in ids), before
        return matcher

    def ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def byte(self, byte: int) -> int:
        """The id of the token of one byte."""
        return self.bytes[bytes([byte])]

    def allowed(self, fmt: Format, before: str | bytes = "") -> set[int]:
        return allowed(self.matcher(fmt, before), self.size)


def allowed(matcher: Matcher, size: int) -> set[int]:
    logits = torch.zeros(size)
    matcher.mask(logits)
    return set((logits == 0).nonzero().flatten().tolist())


@pytest.fixture
def text(text_tokenizer):
    return Vocabulary(text_tokenizer)


@pytest.fixture
def tokens(token_tokenizer):
    return Vocabulary(token_tokenizer)


@pytest.fixture
def token_call(tokens):
    body = Sequence(
        (ConstString('\n{"name": "get_weather", "arguments": '), JsonSchema(json_schema=WEATHER), ConstString("}\n"))
    )
    return Tag(Token(tokens["<tool_call>"]), body, Token(tokens["</tool_call>"]))


def free_texts(call: Tag) -> list[Format]:
    token = isinstance(call.begin, Token)
    triggered = TokenTriggeredTags((call.begin.token,), (call,)) if token else TriggeredTags(("<tool_call>",), (call,))
    return [
        triggered,
        AnyText(),
        AnyText(excludes=("</x>",)),
        AnyTokens(),
        Regex(".*"),
        Or((AnyText(excludes=("</x>",)), call)),
        Tag("", Optional(AnyText()), "</x>"),
        Tag("", AnyText(), "</x>"),
    ]


@pytest.mark.parametrize("place", range(8))
def test_no_added_token_is_free_text(text, tokens, token_call, place):
    for vocabulary, call, named in (text, TEXT_CALL, set()), (tokens, token_call, {tokens["<tool_call>"]}):
        fmt = free_texts(call)[place]
        opener = named if isinstance(fmt, TokenTriggeredTags | Or) else set()

        assert vocabulary.allowed(fmt) & vocabulary.added - vocabulary.stops == opener
        assert vocabulary.ids("a")[0] in vocabulary.allowed(fmt)


def test_tokens_that_a_tag_names_elsewhere_are_kept_out_of_its_free_text(tokens, token_call):
    reasoning = Tag("[think]", AnyText(), "[/think]")
    triggered = TriggeredTags(("[",), (reasoning,))
    tag = Sequence((reasoning, token_call, AnyText(excludes=("x",)), token_call, triggered, token_call))
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "a"}}\n</tool_call>'

    for before in "[think]hm", f"[think]hm[/think]{call}a[b", f"[think]hm[/think]{call}{call}hm [think]a":
        inside = tokens.allowed(tag, before.removesuffix("[b"))
        assert tokens["</tool_call>"] not in inside
        assert tokens["<think>"] not in inside
    assert tokens["<tool_call>"] not in tokens.allowed(tag, "[think]hm")
    assert tokens["<tool_call>"] in tokens.allowed(tag, "[think]hm[/think]")


def test_no_added_token_is_in_a_json_string(tokens, token_call):
    start = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Pa'

    inside = tokens.allowed(token_call, start)

    assert not inside & tokens.added
    assert tokens.ids("é")[0] in inside


def test_no_added_token_that_a_tag_does_not_name_is_in_an_xml_value(tokens, token_call):
    tag = Sequence((token_call, JsonSchema(json_schema=WEATHER, style="qwen_xml")))
    before = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "a"}}\n</tool_call><parameter=city>\nPa'

    assert not tokens.allowed(tag, before) & {tokens["<think>"], tokens["<|im_start|>"], *tokens.stops}


def test_a_marker_spelled_as_text_is_text(tokens):
    spelled = b"<tool_call>\n{"

    matcher = tokens.matcher(ConstString("<tool_call>\n{"), spelled)

    assert allowed(matcher, tokens.size) == tokens.stops
    assert tokens["<tool_call>"] not in tokens.allowed(ConstString("<tool_call>\n{"))


def test_padding_is_never_allowed(text):
    for fmt in AnyText(), AnyText(excludes=("x",)), AnyTokens(), TEXT_CALL:
        assert max(text.allowed(fmt)) < text.size - PADDING


def test_stop_tokens_are_allowed_exactly_where_the_output_may_end(text):
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "a"}}\n</tool_call>'
    tag = TagsWithSeparator((TEXT_CALL,), "\n", at_least_one=True)
    ids = [text.byte(byte) for byte in f"{call}\n{call}".encode()]
    matcher = text.matcher(tag)

    ends = []
    for place, token in enumerate(ids):
        if text.stops & allowed(matcher, text.size):
            assert text.stops <= allowed(matcher, text.size)
            ends.append(text.tokenizer.decode(ids[:place]))
        assert matcher.accept(token)

    assert ends == [call]
    assert allowed(matcher, text.size) & text.stops == text.stops


def test_plain_text_is_valid_utf8(text):
    start = text.allowed(AnyText())
    inside = text.allowed(AnyText(), b"\xc3")

    assert {text.byte(byte) for byte in (0x61, 0xC3, 0xF0)} <= start
    assert not {text.byte(byte) for byte in (0x80, 0xC0, 0xFF)} & start
    assert inside == {text.byte(byte) for byte in range(0x80, 0xC0)}


def test_excluded_text_cannot_be_put_together_from_any_tokens(text):
    fmt = AnyText(excludes=("<tool_call>",))

    assert text.byte(ord(">")) not in text.allowed(fmt, b"a <tool_call")
    assert not any("<tool_call>" in text.tokenizer.decode([token]) for token in text.allowed(fmt))


def test_a_stop_token_that_is_a_marker_is_both(token_tokenizer):
    tokens = Vocabulary(token_tokenizer, stops=("<|im_end|>", "</think>"))
    closer = tokens["</think>"]
    tag = Sequence((ConstString("a"), Token(closer), ConstString("b"), Optional(Token(closer))))

    middle = tokens.matcher(tag, "a")
    assert allowed(middle, tokens.size) == {closer}
    assert middle.accept(closer)
    assert not middle.finished
    assert middle.accept(tokens.ids("b")[0])
    assert allowed(middle, tokens.size) == {closer, tokens["<|im_end|>"]}
    assert middle.accept(closer)
    assert middle.finished


def test_a_stop_token_ends_the_output_where_the_grammar_may_end(token_tokenizer):
    tokens = Vocabulary(token_tokenizer, stops=("<|im_end|>", "</think>"))
    matcher = tokens.matcher(
        Sequence((ConstString("a"), Optional(Sequence((Token(tokens["<think>"]), ConstString("b")))))), "a"
    )

    assert allowed(matcher, tokens.size) == {*tokens.stops, tokens["<think>"]}
    assert matcher.accept(tokens["</think>"])
    assert matcher.finished


def test_a_stop_token_outside_the_added_tokens_is_not_text(text_tokenizer):
    letter = text_tokenizer.token_to_id("a")
    compiler = Compiler(text_tokenizer, vocab_size=text_tokenizer.get_vocab_size(), stop_token_ids=[letter])

    matcher = compiler.compile(StructuralTag(ConstString("ab"))).matcher()

    assert not matcher.accept(letter)


def test_a_finished_matcher_masks_and_accepts_nothing_more(text):
    matcher = text.matcher(ConstString("a"), "a")
    stop = min(text.stops)
    assert matcher.accept(stop)

    assert matcher.finished
    assert not matcher.accept(stop)
    assert allowed(matcher, text.size) == set(range(text.size))


@pytest.mark.parametrize("token", [-1, 10**6, "padding", "other", "denied"])
def test_a_token_that_may_not_come_next_is_refused_and_changes_nothing(text, token):
    token = {"padding": text.size - 1, "other": text.byte(ord("x")), "denied": text["<pad>"]}.get(token, token)
    matcher = text.matcher(ConstString("a"))

    assert not matcher.accept(token)
    assert allowed(matcher, text.size) == {text.byte(ord("a"))}
    assert not matcher.finished


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_masking_changes_one_row_in_place(text, dtype):
    rows = torch.ones(2, text.size, dtype=dtype)

    text.matcher(ConstString("a")).mask(rows[1])

    assert rows[0].eq(1).all()
    assert (rows[1] == 1).nonzero().tolist() == [[text.byte(ord("a"))]]
    assert rows[1].isneginf().sum() == text.size - 1


def test_logits_of_another_width_are_refused(text):
    with pytest.raises(ValueError, match="shape"):
        text.matcher(AnyText()).mask(torch.zeros(text.size - 1))


@pytest.mark.parametrize("width", [31, 32, 33, 64])
def test_any_width_of_logits_is_masked_to_its_end(text_tokenizer, width):
    compiler = Compiler(text_tokenizer, vocab_size=width, stop_token_ids=[width - 1])
    logits = torch.zeros(width)

    compiler.compile(StructuralTag(Grammar('root ::= "\\x01"'))).matcher().mask(logits)

    assert logits.isneginf().sum() >= width - 1


@pytest.mark.parametrize(
    ("fmt", "reason"),
    [
        (JsonSchema(json_schema={"type": "dict"}), 'Unsupported type "dict"'),
        (JsonSchema(json_schema={"type": "string", "pattern": "(a)\\1"}), "Backreference is not supported"),
        (JsonSchema(json_schema={"$ref": "#/$defs/gone"}), "Cannot find field"),
        (TriggeredTags(("<x>",), (Tag("<y>", AnyText(), "</y>"),)), "does not match any trigger"),
        (Grammar("root := 1"), "EBNF"),
        (Token(10**6), "1000000"),
    ],
)
def test_what_cannot_be_compiled_is_the_clients_error(text, fmt, reason):
    with pytest.raises(GrammarError, match=reason.replace("$", "\\$")) as caught:
        text.compiler.compile(StructuralTag(fmt))

    assert caught.value.param == "tools"
    assert ".cc" not in str(caught.value)
    assert "Check failed" not in str(caught.value)


def test_a_compiler_without_a_stop_token_is_refused(text_tokenizer):
    with pytest.raises(ValueError, match="stop"):
        Compiler(text_tokenizer, vocab_size=10, stop_token_ids=[10, -1])


def test_a_schema_nested_too_deeply_is_the_clients_error(text):
    schema: dict = {"type": "string"}
    for _ in range(5000):
        schema = {"type": "array", "items": schema}

    with pytest.raises(GrammarError):
        text.compiler.compile(StructuralTag(JsonSchema(json_schema=schema)))


@pytest.mark.model
def test_the_demo_model_can_write_a_call_in_its_own_tokens():
    tokenizer = load_tokenizer(resolve(None, quiet=True).path)
    width = len(tokenizer)
    compiler = Compiler(tokenizer, vocab_size=width, stop_token_ids=[0, 2])
    reasoning = Tag("<think>", AnyText(excludes=("<tool_call>",)), "</think>")
    matcher = compiler.compile(StructuralTag(Sequence((Optional(reasoning), TEXT_CALL)))).matcher()
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "São Paulo 😀"}}\n</tool_call>'

    for token in tokenizer.encode("<think>Where? <b>" + "</think>" + call, add_special_tokens=False):
        assert not allowed(matcher, width) & set(tokenizer.added_tokens_decoder)
        assert matcher.accept(token), tokenizer.decode([token])

    assert allowed(matcher, width) == {0, 2}


def test_threads_share_a_compiler(text):
    def compile_and_mask(number):
        fmt = Sequence((ConstString("a" * (number % 3 + 1)), TEXT_CALL))
        return text.allowed(fmt)

    with ThreadPoolExecutor(4) as pool:
        masks = list(pool.map(compile_and_mask, range(24)))

    assert all(masks[number] == masks[number % 3] for number in range(24))
