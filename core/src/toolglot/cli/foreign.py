"""Flags of bigger engines that toolglot's own engine does not have, each with what would work instead."""

from __future__ import annotations

from collections.abc import Mapping

_ONE_DEVICE = (
    "its engine runs on one device; for several run vLLM or SGLang, and read their raw output with toolglot.load_parser"
)
_CACHE = "its engine's cache is as large as --max-model-len and --max-num-seqs ask for, or --kv-cache-memory-bytes says"
_DTYPE = "its engine runs weights as --dtype says, whatever a GGUF file has; leave the flag out"
_ADAPTER = "merge the adapter into the weights, and serve the merged directory"
_LOCAL = "a model is a directory, a GGUF file or a hub name; leave the flag out"

FOREIGN_FLAGS: Mapping[str, str] = {
    "--tensor-parallel-size": _ONE_DEVICE,
    "-tp": _ONE_DEVICE,
    "--tp-size": _ONE_DEVICE,
    "--pipeline-parallel-size": _ONE_DEVICE,
    "-pp": _ONE_DEVICE,
    "--data-parallel-size": _ONE_DEVICE,
    "-dp": _ONE_DEVICE,
    "--enable-expert-parallel": _ONE_DEVICE,
    "--distributed-executor-backend": _ONE_DEVICE,
    "--gpu-memory-utilization": _CACHE,
    "--mem-fraction-static": _CACHE,
    "--kv-cache-dtype": _CACHE,
    "--block-size": _CACHE,
    "--swap-space": _CACHE,
    "--cpu-offload-gb": _CACHE,
    "--num-gpu-blocks-override": _CACHE,
    "--chunked-prefill-size": "the flag is --max-num-batched-tokens",
    "--quantization": _DTYPE,
    "-q": _DTYPE,
    "--enable-lora": _ADAPTER,
    "--lora-modules": _ADAPTER,
    "--revision": _LOCAL,
    "--trust-remote-code": "code from a checkpoint is never run; use a model that transformers itself supports",
    "--guided-decoding-backend": "the grammar is always XGrammar's; leave the flag out",
    "--model": "give the model as the first argument: toolglot serve MODEL",
    "--tool-parser": "the flag is --tool-call-parser",
}
