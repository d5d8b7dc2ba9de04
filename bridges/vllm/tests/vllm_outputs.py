"""Outputs as vLLM's server hands them to its parsers: a tokenizer, a request, and pieces of text with their tokens."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

END = "<|end|>"
FAULTS = [
    json.loads(line) for line in (Path(__file__).parent / "cases" / "faults.jsonl").read_text("utf-8").splitlines()
]
MARKERS = {
    "hermes": ("<tool_call>", "</tool_call>", "<think>", "</think>"),
    "mistral": ("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"),
    "llama3_json": ("<|python_tag|>",),
    "kimi_k2": (
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>",
        "<|tool_call_end|>",
        "<|tool_call_argument_begin|>",
    ),
    "qwen3_coder": ("<tool_call>", "</tool_call>", "<think>", "</think>"),
}
"""The markers that are tokens in the vocabularies of these families."""


@cache
def tokenizer(family: str | None = None, *, special: bool = True):
    """One token for each character, and one for each of the family's markers."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    characters = {*string.printable, *"".join(case["raw_output"] for case in FAULTS)}
    inner = Tokenizer(models.WordLevel({one: at for at, one in enumerate(sorted(characters))}, unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    inner.decoder = decoders.Fuse()
    inner.add_tokens([AddedToken(one, special=special, normalized=False) for one in MARKERS.get(family, ())])
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=END)


def encoded(text: str, family: str | None, tokens) -> list[int]:
    """The tokens of an output; a marker inside of a string of JSON is spelled, as models spell it."""
    return tokens.encode(text, add_special_tokens=False)


def chunkings(length: int) -> Iterator[list[int]]:
    """Every equal size and every single cut, as the places of the cuts; of long outputs, some."""
    long = length > 600
    for size in (1, 3, 7, 64) if long else range(1, length + 1):
        yield [*range(size, length, size)]
    for cut in range(1, length, length // 40 if long else 1):
        yield [cut]
