"""Prepared outputs: a file with one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from toolglot.errors import ModelError
from toolglot.portions import portions

_Count: TypeAlias = Annotated[int, Meta(ge=1)]


class PreparedOutput(Struct, frozen=True, forbid_unknown_fields=True):
    """One output, and how it is written."""

    output: str | tuple[Annotated[int, Meta(ge=0)], ...]
    """Text, or token ids. Neither holds the token that ends the reply."""
    chunks: _Count | Annotated[tuple[_Count, ...], Meta(min_length=1)] = 1
    """How many tokens each delta has; of several numbers, the last holds for the rest."""
    finish: Literal["stop", "length"] = "stop"
    delay: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds before each delta."""
    match: str | None = None
    """The output is for prompts that hold this text; None: for all that no other one is for."""
    unchecked: bool = False
    """Whether it may break the grammar of its request."""
    error: str | None = None
    """Generation fails with this message when the output is written."""

    def steps(self, token_ids: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The tokens of each delta."""
        return map(tuple, portions(token_ids, self.chunks))


def read_outputs(path: Path, vocab_size: int) -> tuple[PreparedOutput, ...]:
    """The outputs in a file, in order, for a tokenizer of so many tokens; empty lines count for nothing.

    Raises:
        ModelError: the file cannot be read, holds no output, or a line is none; the message has its number.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ModelError(f"the outputs {path} cannot be read: {error.strerror}") from error
    found = tuple(_output(line, f"{path}:{number}", vocab_size) for number, line in enumerate(lines, 1) if line.strip())
    if not found:
        raise ModelError(f'{path} holds no output; give one object a line, such as {{"output": "Hello."}}')
    return found


def _output(line: bytes, where: str, vocab_size: int) -> PreparedOutput:
    try:
        output = msgspec.json.decode(line, type=PreparedOutput)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{where}: {error}") from error
    largest = 0 if isinstance(output.output, str) else max(output.output, default=0)
    if largest >= vocab_size:
        raise ModelError(f"{where}: `output` has token {largest}; the model's tokens are 0 to {vocab_size - 1}")
    return output
