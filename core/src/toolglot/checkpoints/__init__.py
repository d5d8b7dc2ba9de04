"""Where a model comes from: a directory, a GGUF file, the hub or the demo model; always given as a directory."""

from __future__ import annotations

from toolglot.checkpoints.checkpoint import Checkpoint, Layout, resolve
from toolglot.checkpoints.evidence import evidence, read_evidence
from toolglot.checkpoints.tokenizer import TokenizerMode, load_tokenizer, tokenizer_mode

__all__ = [
    "Checkpoint",
    "Layout",
    "TokenizerMode",
    "evidence",
    "load_tokenizer",
    "read_evidence",
    "resolve",
    "tokenizer_mode",
]
