"""The engines that are spoken to, by the names that users give them."""

from __future__ import annotations

from collections.abc import Mapping

from toolglot.backends.dialect import Dialect
from toolglot.backends.llamacpp import LlamaCpp
from toolglot.backends.openai import OpenAI
from toolglot.backends.sglang import SGLang
from toolglot.backends.vllm import Vllm

DIALECTS: Mapping[str, type[Dialect]] = {one.name: one for one in (Vllm, SGLang, LlamaCpp, OpenAI)}
