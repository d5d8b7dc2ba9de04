"""Any server with OpenAI's ``/v1/completions``: prompts are token ids, answers are text."""

from __future__ import annotations

from typing import Any

from toolglot.backends.completions import finish_of, given, read_completion
from toolglot.backends.dialect import Capabilities, Chunk, Dialect, Reader, RemoteRequest
from toolglot.backends.text_tokens import TextTokens, TokenStream


class OpenAI(Dialect):
    """What OpenAI's API reference has."""

    name = "openai"
    capabilities = Capabilities(
        grammar="none",
        token_ids="none",  # noqa: S106
        takes=frozenset(("seed", "presence_penalty", "frequency_penalty", "logit_bias")),
    )
    health_path = "/v1/models"

    def body(self, request: RemoteRequest) -> dict[str, Any]:
        sampling = request.sampling
        return given(
            model=request.model,
            prompt=request.prompt,
            stream=True,
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            presence_penalty=sampling.presence_penalty or None,
            frequency_penalty=sampling.frequency_penalty or None,
            seed=sampling.seed,
            logit_bias={str(token): bias for token, bias in sampling.logit_bias.items()} or None,
        )

    def reader(self, request: RemoteRequest, tokens: TextTokens) -> Reader:  # noqa: ARG002
        stream = TokenStream(tokens)

        def chunk(event: bytes) -> Chunk:
            completion = read_completion(event)
            cached = completion.usage.cached_tokens if completion.usage else 0
            if not completion.choices:
                return Chunk(cached_tokens=cached)
            choice = completion.choices[0]
            finish = finish_of(choice)
            if choice.token_ids is not None:
                return Chunk(tuple(choice.token_ids), finish, cached_tokens=cached)
            ids = stream.feed(choice.text)
            return Chunk(ids if finish is None else (*ids, *stream.finish()), finish, cached_tokens=cached)

        return chunk
