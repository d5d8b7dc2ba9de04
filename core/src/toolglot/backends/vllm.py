"""vLLM: ``/v1/completions`` with token ids both ways.

What a request leaves out, vLLM takes from the model's generation config: so all that is sampled with is sent.
"""

from __future__ import annotations

from typing import Any

from toolglot.backends.completions import finish_of, given, logprobs_of, read_completion
from toolglot.backends.dialect import Capabilities, Chunk, Dialect, Reader, RemoteRequest
from toolglot.backends.faults import ReplicaError
from toolglot.backends.text_tokens import TextTokens


class Vllm(Dialect):
    """vLLM's protocol, as of 0.32."""

    name = "vllm"
    capabilities = Capabilities(
        grammar="structural tag",
        token_ids="all",  # noqa: S106
        takes=frozenset(
            (
                *("top_k", "min_p", "seed", "ignore_eos", "presence_penalty", "frequency_penalty"),
                *("repetition_penalty", "logit_bias", "min_tokens", "stop_token_ids", "logprobs", "cache_salt"),
            )
        ),
        cached_tokens="if it is told to",
    )

    def body(self, request: RemoteRequest) -> dict[str, Any]:
        sampling, constraint = request.sampling, request.constraint
        probabilities = None if sampling.logprobs is None else True
        return given(
            model=request.model,
            prompt=request.prompt,
            stream=True,
            stream_options={"include_usage": True},
            return_token_ids=True,
            skip_special_tokens=False,
            spaces_between_special_tokens=False,
            request_id=request.id,
            max_tokens=sampling.max_tokens,
            min_tokens=sampling.min_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            min_p=sampling.min_p,
            presence_penalty=sampling.presence_penalty,
            frequency_penalty=sampling.frequency_penalty,
            repetition_penalty=sampling.repetition_penalty,
            ignore_eos=sampling.ignore_eos,
            seed=sampling.seed,
            logit_bias=request.biases,
            stop_token_ids=sorted(sampling.stop_token_ids) or None,
            logprobs=sampling.logprobs,
            return_tokens_as_token_ids=probabilities,
            cache_salt=sampling.cache_salt.hex() or None,
            structured_outputs=constraint and {"structural_tag": constraint.text},
        )

    def reader(self, request: RemoteRequest, tokens: TextTokens) -> Reader:  # noqa: ARG002  it tells token ids
        asked = request.sampling.logprobs

        def chunk(event: bytes) -> Chunk:
            completion = read_completion(event)
            cached = completion.usage.cached_tokens if completion.usage else 0
            if not completion.choices:
                return Chunk(cached_tokens=cached)
            choice = completion.choices[0]
            if choice.token_ids is None:
                raise ReplicaError("the engine tells no token ids: it is no vLLM that knows `return_token_ids`")
            return Chunk(tuple(choice.token_ids), finish_of(choice), logprobs_of(choice, asked), cached)

        return chunk
