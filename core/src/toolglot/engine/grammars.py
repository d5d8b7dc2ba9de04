"""The grammars of one engine, if XGrammar is installed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
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


class LateGrammars:
    """:class:`Grammars` that are made for the first tag: they have a process of their own, which not all need."""

    def __init__(self, tokenizer: Any, info: ModelInfo) -> None:
        self._tokenizer, self._info = tokenizer, info
        self._grammars: Grammars | None = None
        self._starting = asyncio.Lock()

    async def compile(self, tag: StructuralTag) -> Constraint:
        """As :meth:`Grammars.compile`."""
        async with self._starting:
            if self._grammars is None:
                await asyncio.to_thread(_import_grammar)
                self._grammars = Grammars(self._tokenizer, self._info)
            grammars = self._grammars
        return await grammars.compile(tag)

    async def stop(self) -> None:
        """As :meth:`Grammars.stop`; a tag that comes later begins anew."""
        async with self._starting:
            grammars, self._grammars = self._grammars, None
        if grammars is not None:
            await grammars.stop()


def _import_grammar() -> None:
    """Import what compiles grammars, which takes seconds; whether it is there is found out later."""
    with suppress(ModuleNotFoundError):
        import toolglot.grammar  # noqa: F401
