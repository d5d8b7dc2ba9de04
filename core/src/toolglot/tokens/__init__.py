"""Tokens to text, as they come."""

from toolglot.tokens.detokenizer import Detokenizer, Piece

__all__ = ["Detokenizer", "Piece"]
