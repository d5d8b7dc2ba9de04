"""llama.cpp's server: ``/completion`` with token ids both ways, and grammars in GBNF.

While a character is incomplete, it tells none of the character's tokens; with the last of them it tells the whole
character. So the others are made of the text. A token that ends the reply is told before the event that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Struct, field

from toolglot.backends.completions import given
from toolglot.backends.dialect import (
    Capabilities,
    Chunk,
    Dialect,
    Finish,
    Problem,
    Reader,
    RemoteRequest,
    Served,
    raise_problem,
    read,
)
from toolglot.backends.faults import ReplicaError
from toolglot.backends.gbnf import gbnf
from toolglot.backends.text_tokens import TextTokens
from toolglot.engine.protocol import TokenLogprobs

_SEEDS = 2**32 - 1
"""The largest seed means a random one."""
_SAMPLERS = ("penalties", "temperature", "top_k", "top_p", "min_p")
"""In the order in which the embedded engine, vLLM and SGLang apply them."""


class LlamaCpp(Dialect):
    """The protocol of llama.cpp's server, as of late 2026."""

    name = "llamacpp"
    capabilities = Capabilities(
        grammar="GBNF",
        token_ids="but inside characters",  # noqa: S106
        takes=frozenset(
            (
                *("top_k", "min_p", "seed", "ignore_eos", "presence_penalty", "frequency_penalty"),
                *("repetition_penalty", "logit_bias", "stop_token_ids", "logprobs"),
            )
        ),
        cached_tokens="yes",
    )
    path = "/completion"
    details_paths = ("/props",)

    def lower(self, tag: str, names: Mapping[int, str]) -> str:
        return gbnf(tag, names)

    def body(self, request: RemoteRequest) -> dict[str, Any]:
        sampling, constraint = request.sampling, request.constraint
        bias: list[tuple[int, float | bool]] = list(sampling.logit_bias.items())
        if constraint is not None:
            bias += [(token, False) for token in sorted(constraint.banned)]
        return given(
            model=request.model,
            prompt=request.prompt,
            stream=True,
            return_tokens=True,
            cache_prompt=True,
            n_predict=sampling.max_tokens,
            samplers=_SAMPLERS,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            min_p=sampling.min_p,
            repeat_last_n=len(request.prompt) + sampling.max_tokens,
            repeat_penalty=sampling.repetition_penalty,
            presence_penalty=sampling.presence_penalty,
            frequency_penalty=sampling.frequency_penalty,
            ignore_eos=sampling.ignore_eos,
            seed=None if sampling.seed is None else sampling.seed % _SEEDS,
            logit_bias=bias or None,
            n_probs=None if sampling.logprobs is None else max(sampling.logprobs, 1),
            grammar=constraint and constraint.text,
        )

    def reader(self, request: RemoteRequest, tokens: TextTokens) -> Reader:
        asked = request.sampling.logprobs

        def chunk(event: bytes) -> Chunk:
            answer = read(_DECODER, event)
            raise_problem(answer.error)
            if answer.prompt_progress is not None:  # its token is none
                return Chunk()
            ids = _ids(answer, tokens)
            if asked is not None and len(ids) > len(answer.completion_probabilities):
                raise ReplicaError(
                    "llama.cpp tells no probabilities of the tokens inside a character, and this reply has such tokens"
                )
            logprobs = tuple(one.told(asked) for one in answer.completion_probabilities) if asked is not None else ()
            return Chunk(ids, _finish(answer), logprobs[: len(ids)], answer.timings.cache_n)

        return chunk

    def served(self, models: bytes, details: Mapping[str, Any]) -> list[Served]:
        """The names without folder and ending too; the context is that of one of the server's slots."""
        length = details.get("default_generation_settings", {}).get("n_ctx")
        return [
            Served(one.name, length, one.aliases | {PurePath(one.name).name, PurePath(one.name).stem})
            for one in super().served(models, details)
        ]


class _Probability(Struct):
    id: int
    logprob: float | None = None
    top_logprobs: list[_Probability] = field(default_factory=list)

    def told(self, asked: int) -> TokenLogprobs:
        top = tuple((one.id, one.value) for one in self.top_logprobs[:asked])
        return TokenLogprobs(self.value, top)

    @property
    def value(self) -> float:
        return -9999.0 if self.logprob is None else self.logprob


class _Timings(Struct):
    cache_n: int = 0


class _Answer(Struct):
    content: str = ""
    tokens: list[int] = field(default_factory=list)
    stop: bool = False
    stop_type: str = "none"
    truncated: bool = False
    completion_probabilities: list[_Probability] = field(default_factory=list)
    timings: _Timings = field(default_factory=_Timings)
    prompt_progress: msgspec.Raw | None = None
    error: Problem | None = None


_DECODER = msgspec.json.Decoder(_Answer)


def _ids(answer: _Answer, tokens: TextTokens) -> tuple[int, ...]:
    """The tokens of an answer, those before it that were not told included."""
    ids, text = tuple(answer.tokens), answer.content.encode()
    known = b"".join(tokens.texts[token] for token in ids if token < len(tokens.texts))
    if len(text) <= len(known) or not text.endswith(known):
        return ids
    return (*tokens.encode_bytes(text[: len(text) - len(known)]), *ids)


def _finish(answer: _Answer) -> Finish | None:
    if not answer.stop:
        return None
    return "length" if answer.truncated or answer.stop_type == "limit" else "stop"
