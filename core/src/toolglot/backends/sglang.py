"""SGLang: ``/generate`` with token ids both ways.

Its answers hold all tokens so far, or, on a server with ``--incremental-streaming-output``, the new ones. The count in
each answer tells which: the list is shorter than that only where it holds the new ones. A list of all tokens may be
ahead of its count, and of the probabilities beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from toolglot.backends.completions import given
from toolglot.backends.dialect import Capabilities, Chunk, Dialect, Finish, Problem, RemoteRequest, read
from toolglot.backends.faults import BusyError, RefusedError, ReplicaError
from toolglot.backends.text_tokens import TextTokens
from toolglot.engine.protocol import TokenLogprobs

_Logprob = tuple[float | None, int, str | None]


class SGLang(Dialect):
    """SGLang's protocol, as of 0.5.23."""

    name = "sglang"
    capabilities = Capabilities(
        grammar="structural tag",
        token_ids="all",  # noqa: S106
        takes=frozenset(
            (
                *("top_k", "min_p", "ignore_eos", "presence_penalty", "frequency_penalty", "repetition_penalty"),
                *("logit_bias", "min_tokens", "stop_token_ids", "logprobs", "cache_salt"),
            )
        ),
        abort="hanging up, and by id",
        cached_tokens="yes",
    )
    path = "/generate"
    details_paths = ("/server_info", "/get_server_info")

    def takes(self, details: Mapping[str, Any]) -> frozenset[str]:
        """Seeds too, where the server was started to be deterministic: otherwise it does not look at them."""
        more = {"seed"} if details.get("enable_deterministic_inference") else set()
        return self.capabilities.takes | more

    def body(self, request: RemoteRequest) -> dict[str, Any]:
        sampling, constraint = request.sampling, request.constraint
        salt = sampling.cache_salt.hex() or None
        return given(
            rid=request.id,
            input_ids=request.prompt,
            stream=True,
            return_logprob=None if sampling.logprobs is None else True,
            top_logprobs_num=sampling.logprobs,
            logprob_start_len=None if sampling.logprobs is None else -1,
            cache_salt=salt,
            extra_key=salt,  # what versions before `cache_salt` keep caches apart by
            sampling_params=given(
                max_new_tokens=sampling.max_tokens,
                min_new_tokens=sampling.min_tokens,
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                top_k=sampling.top_k or -1,
                min_p=sampling.min_p,
                presence_penalty=sampling.presence_penalty,
                frequency_penalty=sampling.frequency_penalty,
                repetition_penalty=sampling.repetition_penalty,
                ignore_eos=sampling.ignore_eos,
                skip_special_tokens=False,
                spaces_between_special_tokens=False,
                sampling_seed=sampling.seed,
                logit_bias=request.biases,
                stop_token_ids=sorted(sampling.stop_token_ids) or None,
                structural_tag=constraint and constraint.text,
            ),
        )

    def reader(self, request: RemoteRequest, tokens: TextTokens) -> _Reader:  # noqa: ARG002  it tells token ids
        return _Reader(request.sampling.logprobs)

    def abort(self, request: RemoteRequest) -> tuple[str, dict[str, Any]] | None:
        return "/abort_request", {"rid": request.id}


class _Finish(Struct):
    type: str
    message: str | None = None
    status_code: int | None = None


class _Meta(Struct):
    completion_tokens: int
    finish_reason: _Finish | None = None
    cached_tokens: int = 0
    output_token_logprobs: list[_Logprob] = field(default_factory=list)
    output_top_logprobs: list[list[_Logprob] | None] = field(default_factory=list)


class _Answer(Struct):
    output_ids: list[int] | None = None
    meta_info: _Meta | None = None
    error: Problem | None = None


_DECODER = msgspec.json.Decoder(_Answer)


class _Reader:
    def __init__(self, logprobs: int | None) -> None:
        self._asked = logprobs
        self._told = 0
        """How many tokens were read."""
        self._begun = False

    def __call__(self, event: bytes) -> Chunk:
        answer = read(_DECODER, event)
        if answer.error is not None:  # it tells of bad requests so, and of nothing else
            raise RefusedError(f"the engine refuses the request: {answer.error.message}")
        meta, ids = answer.meta_info, answer.output_ids
        if meta is None or ids is None:
            raise ReplicaError("the engine sent an answer without token ids: it is no SGLang that tells them")
        finish = _finish(meta.finish_reason)
        start = self._told if len(ids) >= meta.completion_tokens else 0
        if start > len(ids):
            raise ReplicaError(f"the engine told {start} tokens, and then that there are {len(ids)}")
        cached, self._begun = 0 if self._begun else meta.cached_tokens, True
        logprobs = self._logprobs(meta, start)
        new = tuple(ids[start:]) if self._asked is None else tuple(ids[start : start + len(logprobs)])
        self._told += len(new)
        return Chunk(new, finish, logprobs[: len(new)], cached)

    def _logprobs(self, meta: _Meta, start: int) -> tuple[TokenLogprobs, ...]:
        if self._asked is None:
            return ()
        chosen, tops = meta.output_token_logprobs[start:], meta.output_top_logprobs[start:]
        tops += [None] * (len(chosen) - len(tops))
        return tuple(
            TokenLogprobs(_value(logprob), tuple((token, _value(one)) for one, token, _ in (top or [])[: self._asked]))
            for (logprob, _, _), top in zip(chosen, tops, strict=False)
        )


def _value(logprob: float | None) -> float:
    return -9999.0 if logprob is None else logprob


def _finish(reason: _Finish | None) -> Finish | None:
    """Why the reply ended, if it did. Raises ReplicaError, RefusedError: the engine gave it up."""
    match reason:
        case None:
            return None
        case _Finish("stop"):
            return "stop"
        case _Finish("length"):
            return "length"
        case _Finish("abort", message=str(message), status_code=503 | 429):
            raise BusyError(f"the engine takes no more requests: {message}", 1)
        case _Finish("abort", message=str(message), status_code=400):
            raise RefusedError(f"the engine refuses the request: {message}")
        case _Finish("abort", message=message):
            raise ReplicaError(f"the engine gave the reply up: {message or 'no reason given'}")
    raise ReplicaError(f"the engine ended the reply for {reason.type!r}")
