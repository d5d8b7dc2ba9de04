"""Cutting an output loses nothing, and is the same each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolglot.cli.chunks import LONGEST, chunking


@given(st.text(), st.integers(1, 9))
def test_even_pieces_have_the_size(text: str, size: int) -> None:
    pieces = list(chunking(str(size))(text))

    assert "".join(pieces) == text
    assert all(len(piece) == size for piece in pieces[:-1])


@given(st.text(), st.integers(0, 99))
def test_a_seed_always_cuts_alike(text: str, seed: int) -> None:
    pieces = list(chunking(f"random:{seed}")(text))

    assert "".join(pieces) == text
    assert all(1 <= len(piece) <= LONGEST for piece in pieces)
    assert pieces == list(chunking(f"random:{seed}")(text))


def test_seeds_cut_differently() -> None:
    text = "x" * 200

    assert list(chunking("random:1")(text)) != list(chunking("random:2")(text))
