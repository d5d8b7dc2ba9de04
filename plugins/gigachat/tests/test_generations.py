"""GigaChat 3 and 3.1 begin a call differently; what is written is what the vocabulary knows."""

import pytest

from toolglot import Call, load_parser

V3, V31 = {"<|message_sep|>": 1, "<|role_sep|>": 2}, {"<|message_sep|>": 1, "<|role_sep|>": 2, "<|function_call|>": 3}
CALL = Call("", "now", "{}")
TOOLS = [{"type": "function", "function": {"name": "now"}}]


@pytest.mark.parametrize(
    ("vocabulary", "opener"),
    [(V3, "<|message_sep|>\n\nfunction call<|role_sep|>\n"), (V31, "<|function_call|>"), (None, "<|function_call|>")],
)
def test_the_generation_is_read_off_the_vocabulary(vocabulary, opener):
    text = load_parser("gigachat3", tokenizer=vocabulary).render([CALL])

    assert text == f'{opener}{{"name": "now", "arguments": {{}}}}'
    for other in (V3, V31, None):
        assert len(load_parser("gigachat3", tokenizer=other).parse(text, tools=TOOLS).tool_calls) == 1
