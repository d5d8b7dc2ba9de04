"""Small tokenizers, made here: one id a byte, and added tokens as chat models have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

CHATML = """
{%- for message in messages -%}
    {{- "<|im_start|>" ~ message.role ~ "\\n" ~ (message.content or "") -}}
    {%- for call in message.tool_calls or [] -%}
        {{- "<tool_call>" ~ (call | tojson) ~ "</tool_call>" -}}
    {%- endfor -%}
    {{- (message.name or "") ~ (message.tool_call_id or "") ~ "<|im_end|>\\n" -}}
{%- endfor -%}
{{- tools | tojson if tools -}}
{{- "<|im_start|>assistant\\n" -}}
"""
SPECIAL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
ORDINARY = ("<tool_call>", "</tool_call>", "<think>", "</think>")

Make = Callable[..., PreTrainedTokenizerFast]


@pytest.fixture(scope="session")
def make_tokenizer() -> Make:
    """Make a byte-level tokenizer with more added tokens, a normalizer, or another chat template."""

    def make(
        *more: AddedToken | str,
        normalizer: normalizers.Normalizer | None = None,
        chat_template: Any = CHATML,
    ) -> PreTrainedTokenizerFast:
        letters = sorted(pre_tokenizers.ByteLevel.alphabet())
        merges = [("t", "o"), ("to", "o"), ("too", "l")]
        words = [*letters, *(left + right for left, right in merges)]
        backend = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, merges))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        return wrap(backend, more, normalizer, chat_template)

    return make


@pytest.fixture(scope="session")
def tokenizer(make_tokenizer: Make) -> PreTrainedTokenizerFast:
    """Byte-level, ChatML, with special markers and ordinary ones such as ``<tool_call>``."""
    return make_tokenizer()


@pytest.fixture(scope="session")
def metaspace_tokenizer() -> PreTrainedTokenizerFast:
    """Puts a space before the first word of what it encodes, as sentencepiece tokenizers do."""
    letters = ["▁", *map(chr, range(33, 127)), "\n"]
    backend = Tokenizer(models.BPE({letter: number for number, letter in enumerate(letters)}, []))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    backend.decoder = decoders.Metaspace(prepend_scheme="first")
    return wrap(backend, (), None, CHATML)


def wrap(
    backend: Tokenizer, more: Sequence[AddedToken | str], normalizer: normalizers.Normalizer | None, chat_template: Any
) -> PreTrainedTokenizerFast:
    if normalizer is not None:
        backend.normalizer = normalizer
    backend.add_special_tokens(list(SPECIAL))
    backend.add_tokens([AddedToken(text, normalized=False) for text in ORDINARY])
    backend.add_tokens(list(more))
    wrapped = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    wrapped.chat_template = chat_template
    return wrapped
