"""A tokenizer without a model: one token a byte, and the markers of a format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from toolglot.formats.binding import marker_spellings
from toolglot.formats.declaration import WireFormat

TURN, END = "<|replay_turn|>", "<|replay_end|>"
"""What stands before the role of each message, and what ends it."""

_TOKEN = re.compile(r"<[^<>\s~{}]{2,}>|\[/?[A-Z][A-Z_]+\]")
_TEMPLATE = (
    "{% if tools %}" + TURN + "tools\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}" + END + "{% endif %}"
    "{% for message in messages %}" + TURN + "{{ message.role }}\n{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}\n{{ call.function | tojson }}{% endfor %}" + END + "{% endfor %}"
    "{% if add_generation_prompt %}" + TURN + "assistant\n{% endif %}"
)


def byte_tokenizer(form: WireFormat | None) -> Any:
    """One of transformers' tokenizers whose tokens are bytes and, whole, the markers of ``form`` that look like tokens.

    Its chat template writes each message plainly. It mentions the fences of the format's reasoning, so that a grammar
    lets the model reason.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={char: number for number, char in enumerate(alphabet)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    texts = [TURN, END, *(marker_tokens(form) if form else ())]
    inner.add_tokens([AddedToken(text, special=True, normalized=False) for text in texts])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=END, clean_up_tokenization_spaces=False)
    tokenizer.chat_template = _TEMPLATE + _mention(form)
    return tokenizer


def marker_tokens(form: WireFormat) -> tuple[str, ...]:
    """The parts of a format's markers that look like tokens of their own, ``<so>`` or ``[SO]``."""
    return tuple(sorted({token for marker in marker_spellings(form) for token in _TOKEN.findall(marker)}))


def _mention(form: WireFormat | None) -> str:
    if form is None or form.reasoning is None:
        return ""
    fence = form.reasoning.fence
    return "{# " + " ".join(_written((*fence.open, *fence.close))) + " #}"


def _written(spellings: Iterable[str]) -> list[str]:
    return [spelling.replace("~", "").strip() for spelling in spellings]
