"""Engines that continue prompts, so that their time can be taken: ours, and others that the user has."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import torch
from transformers import AutoModelForCausalLM

from toolglot.engine.local import LocalEngine
from toolglot.engine.protocol import SamplingParams, TokenDelta

MAX_LENGTH = 2048
"""Of a prompt and its continuation, in tokens."""
MAX_BATCH = 32

_VLLM = Path(__file__).with_name("vllm_engine_script.py")

Prompts = Sequence[Sequence[int]]


class Contender(Protocol):
    """An engine with the model loaded."""

    name: str
    """With the format of its weights."""

    def run(self, prompts: Prompts, tokens: int) -> None:
        """Continue all prompts at once, greedily, each by so many tokens."""

    def processor_time(self) -> float:
        """The processor time that it has taken so far, in seconds, or this process, if it runs in this."""

    def close(self) -> None:
        """Give its memory back."""


class InThisProcess:
    def processor_time(self) -> float:
        return time.process_time()


class Toolglot(InThisProcess):
    def __init__(self, path: Path, tokenizer: Any, dtype: Any, threads: int) -> None:
        self.name = f"toolglot {dtype}"
        self.runner = asyncio.Runner()
        self.engine = LocalEngine(
            path, name=path.name, tokenizer=tokenizer, dtype=dtype, threads=threads, max_model_len=MAX_LENGTH,
            max_num_seqs=MAX_BATCH,
        )  # fmt: skip
        self.runner.run(self.engine.start())

    def run(self, prompts: Prompts, tokens: int, constraint: Any = None) -> None:
        self.runner.run(self._all(prompts, tokens, constraint))

    def close(self) -> None:
        self.runner.run(self.engine.stop())
        self.runner.close()

    def deltas(self, prompt: Sequence[int], tokens: int, constraint: Any) -> list[TokenDelta]:
        """What each pass brought that continued one prompt."""
        return self.runner.run(self._one(prompt, tokens, constraint))

    async def _all(self, prompts: Prompts, tokens: int, constraint: Any) -> None:
        await asyncio.gather(*(self._one(prompt, tokens, constraint) for prompt in prompts))

    async def _one(self, prompt: Sequence[int], tokens: int, constraint: Any) -> list[TokenDelta]:
        sampling = SamplingParams(max_tokens=tokens, temperature=0, ignore_eos=True)
        return [delta async for delta in self.engine.submit(prompt, sampling, constraint)]


class Transformers(InThisProcess):
    name = "transformers generate, float32"

    def __init__(self, path: Path, threads: int) -> None:
        torch.set_num_threads(threads)
        self._model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()

    def run(self, prompts: Prompts, tokens: int) -> None:
        ids = torch.tensor(prompts)
        self._model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, min_new_tokens=tokens, max_new_tokens=tokens,
            pad_token_id=0,
        )  # fmt: skip

    def close(self) -> None:
        del self._model


class Llama(InThisProcess):
    """llama.cpp in this process, by the package xllamacpp."""

    def __init__(self, gguf: Path, quantisation: str, threads: int) -> None:
        import xllamacpp

        self.name = f"llama.cpp {quantisation}"
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(gguf)
        parameters.verbosity = 0
        parameters.n_parallel = MAX_BATCH
        parameters.n_ctx = MAX_LENGTH * MAX_BATCH
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
        self._server = xllamacpp.Server(parameters)

    def run(self, prompts: Prompts, tokens: int) -> None:
        with ThreadPoolExecutor(len(prompts)) as pool:
            list(pool.map(lambda prompt: self._one(prompt, tokens), prompts))

    def close(self) -> None:
        del self._server

    def _one(self, prompt: Sequence[int], tokens: int) -> None:
        asked = {
            "prompt": list(prompt),
            "n_predict": tokens,
            "temperature": 0,
            "ignore_eos": True,
            "cache_prompt": True,
        }
        answer = self._server.handle_completions(asked)
        if "error" in answer:
            raise RuntimeError(f"llama.cpp: {answer['error']}")


class Vllm:
    """vLLM in a process of its own, since it has its own environment."""

    name = "vLLM float32"

    def __init__(self, python: str, path: Path, threads: int) -> None:
        cores = f"0-{threads - 1}" if threads > 1 else "0"
        settings = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "2", "VLLM_CPU_OMP_THREADS_BIND": cores}
        command = [python, str(_VLLM), str(path), str(MAX_LENGTH), str(MAX_BATCH)]
        self._process = subprocess.Popen(  # noqa: S603  # the Python that the user named
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **settings}
        )
        self._answer()

    def run(self, prompts: Prompts, tokens: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"prompts": prompts, "tokens": tokens}) + "\n")
        self._process.stdin.flush()
        self._answer()

    def processor_time(self) -> float:
        return self._processor_time

    def close(self) -> None:
        self._process.communicate()

    def _answer(self) -> None:
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise RuntimeError(f"the process with vLLM ended with code {self._process.wait()}")
        self._processor_time = float(line)
