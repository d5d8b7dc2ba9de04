"""The grammars of one engine, if XGrammar is installed."""

from __future__ import annotations

from typing import Any

from toolglot.engine.protocol import Constraint, ModelInfo
from toolglot.errors import GrammarError
from toolglot.structural_tag import StructuralTag


class Grammars:
    """Compiles tags for a tokenizer and a model, for one event loop, in which it is made."""

    def __init__(self, tokenizer: Any, info: ModelInfo) -> None:
        self._missing: ModuleNotFoundError | None = None
        try:
            from toolglot.grammar import BoundedCompiler, Compiler
        except ModuleNotFoundError as error:
            self._missing = error
            return

        def make(cache_bytes: int) -> Compiler:
            stops = sorted(info.stop_token_ids)
            return Compiler(tokenizer, vocab_size=info.vocab_size, stop_token_ids=stops, cache_bytes=cache_bytes)

        self._compiler = BoundedCompiler(make)
        self._compiler.start()

    async def compile(self, tag: StructuralTag) -> Constraint:
        """As :meth:`toolglot.engine.protocol.Engine.compile`."""
        if self._missing is not None:
            message = f'constrained decoding needs XGrammar: pip install "toolglot[grammar]" ({self._missing})'
            raise GrammarError(message) from self._missing
        return await self._compiler.compile(tag)

    async def stop(self) -> None:
        """End what is being compiled, and the process that compiles."""
        if self._missing is None:
            await self._compiler.stop()
