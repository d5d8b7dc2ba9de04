"""Where a model comes from: a directory, a GGUF file, the hub or the demo model; always given as a directory."""

from __future__ import annotations

from toolglot.checkpoints.checkpoint import Checkpoint, load_tokenizer, resolve

__all__ = ["Checkpoint", "load_tokenizer", "resolve"]
