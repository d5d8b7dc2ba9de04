"""Where a reply ends, whatever the engine says of it."""

from __future__ import annotations

from toolglot.backends.dialect import Chunk, Finish, RemoteRequest
from toolglot.engine.protocol import TokenDelta


class Cut:
    """Makes deltas of an engine's chunks: a token that ends the reply is told apart, and the reply is cut at the
    request's stop tokens and at its limit.
    """

    def __init__(self, request: RemoteRequest, stop_token_ids: frozenset[int]) -> None:
        self._sampling = request.sampling
        self._named = request.constraint.named if request.constraint else frozenset()
        self._stops = stop_token_ids | self._sampling.stop_token_ids
        self._held: Chunk | None = None
        self._written = 0
        self.ended = False

    def feed(self, chunk: Chunk) -> TokenDelta | None:
        """What is to be told; None where that is nothing."""
        chunk = _joined(self._held, chunk)
        self._held = None
        ids, finish = self._limited(chunk)
        if finish is None and ids and ids[-1] in self._stops:
            self._held = chunk  # some engines tell the token that ends a reply before they tell that it ends
            return None
        stop = None
        if finish == "stop" and ids and ids[-1] in self._stops - self._named:  # a named one is a marker of the reply
            stop, ids = ids[-1], ids[:-1]
        self._written += len(ids)
        self.ended = finish is not None
        if not (ids or finish or chunk.cached_tokens):
            return None
        return TokenDelta(ids, finish, stop, chunk.logprobs[: len(ids)], chunk.cached_tokens)

    def _limited(self, chunk: Chunk) -> tuple[tuple[int, ...], Finish | None]:
        """The tokens up to a stop token of the request, or to its limit, and whether they end there."""
        ids, room = chunk.token_ids, self._sampling.max_tokens - self._written
        end = next((at for at, token in enumerate(ids[:room]) if token in self._sampling.stop_token_ids), None)
        if end is not None:
            return ids[: end + 1], "stop"
        return (ids[:room], "length") if len(ids) > room else (ids, chunk.finish)


def _joined(held: Chunk | None, chunk: Chunk) -> Chunk:
    if held is None:
        return chunk
    return Chunk(
        held.token_ids + chunk.token_ids,
        chunk.finish,
        held.logprobs + chunk.logprobs,
        held.cached_tokens + chunk.cached_tokens,
    )
