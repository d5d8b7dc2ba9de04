"""Where a reply ends, whatever an engine says of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolglot.backends.cutting import Cut
from toolglot.backends.dialect import Chunk, RemoteRequest
from toolglot.engine.protocol import SamplingParams, TokenLogprobs

END, STOP = 9, 8
TOKENS = st.lists(st.integers(0, 9), max_size=12)


def deltas(chunks, **sampling):
    request = RemoteRequest(id="x", model="m", prompt=(1,), sampling=SamplingParams(**{"max_tokens": 99, **sampling}))
    cut = Cut(request, frozenset({END}))
    found = []
    for chunk in chunks:
        delta = cut.feed(chunk)
        if delta is not None:
            found.append(delta)
        if cut.ended:
            break
    return found


def chunked(ids, sizes, finish):
    """The tokens in portions, with a probability each; the engine tells the finish in the last chunk, or behind it."""
    chunks, at = [], 0
    for size in (*sizes, len(ids)):
        part = tuple(ids[at : at + size])
        chunks.append(Chunk(part, logprobs=tuple(TokenLogprobs(-float(token)) for token in part)))
        at += size
    return [*chunks, Chunk(finish=finish)]


@given(TOKENS, st.lists(st.integers(0, 4), max_size=6), st.integers(1, 14))
def test_it_is_cut_at_the_first_of_its_ends_in_any_portions(ids, sizes, most):
    found = deltas(chunked(ids, sizes, "stop"), max_tokens=most, stop_token_ids=frozenset({STOP}))
    told = [token for delta in found for token in delta.token_ids]
    asked = [at for at, token in enumerate(ids) if token == STOP]
    end = min([*asked, len(ids) - (ids[-1:] == [END])])
    limited = end + (end < len(ids)) > most  # the token that ends it counts too
    assert told == (ids[:most] if limited else ids[:end])
    assert found[-1].finish == ("length" if limited else "stop")
    assert [delta.finish for delta in found[:-1]] == [None] * (len(found) - 1)
    assert all([-one.logprob for one in delta.logprobs] == list(delta.token_ids) for delta in found)


def test_an_end_in_mid_reply_is_a_token_like_others():
    found = deltas([Chunk((1, END)), Chunk((2,)), Chunk((END,)), Chunk(finish="stop")])
    assert [delta.token_ids for delta in found] == [(1, END, 2), ()]
    assert found[-1].stop_token == END


def test_the_limit_is_kept_where_the_engine_does_not():
    found = deltas([Chunk((1, 2)), Chunk((3, 4))], max_tokens=3)
    assert [(delta.token_ids, delta.finish) for delta in found] == [((1, 2), None), ((3,), "length")]
