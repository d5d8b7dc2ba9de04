"""Whether each attention says what SDPA says in float32, on small models with random weights and on the demo model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from msgspec import Struct
from transformers import (
    AutoModelForCausalLM,
    DeepseekV3Config,
    Gemma2Config,
    Gemma3TextConfig,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
    Qwen3MoeConfig,
)

from toolglot.engine.local import LocalEngine
from toolglot.engine.protocol import SamplingParams, TokenLogprobs
from toolglot.errors import EngineError, ModelError

NEAR_TIE: Final = 1e-3
"""How close the two most probable tokens are where rounding may decide between them, in float32."""
ROUNDING: Final = 3
"""So many times as far as SDPA's results in bfloat16 lie from those in float32, others' may lie from them."""
TOP: Final = 8
"""Of how many tokens the log probabilities are compared."""
VOCABULARY: Final = 512
TOKENS: Final = 24
LENGTHS: Final = (1, 2, 17, 64, 127, 128, 129, 255, 256, 257, 400, 600)
"""Of the prompts: around the blocks' sizes, and past the window."""
REFERENCE: Final = ("sdpa", "float32", "eager")
Settings = tuple[str, str, str]
"""Attention, type of the weights, and whether decoding runs from graphs."""
Output = tuple[list[int], list[TokenLogprobs]]
"""The tokens that follow a prompt, and how probable they were."""

_HEADS: dict[str, Any] = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128}
_WINDOWED: dict[str, Any] = {"sliding_window": 100, "layer_types": ["sliding_attention", "full_attention"]}
_ALL_EXPERTS: dict[str, Any] = {"num_experts_per_tok": 4, "moe_intermediate_size": 128}
"""A token goes to each: that rounding may choose other experts would hide more than it shows."""
_LATENT: dict[str, Any] = {
    "q_lora_rank": 64, "kv_lora_rank": 64, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
    "num_attention_heads": 4, "num_key_value_heads": 4,
    "n_routed_experts": 4, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1,
}  # fmt: skip
MODELS: Final[dict[str, tuple[type[PreTrainedConfig], dict[str, Any]]]] = {
    "llama": (LlamaConfig, _HEADS),
    "mistral": (MistralConfig, _HEADS | {"sliding_window": 100}),
    "gemma2": (Gemma2Config, _HEADS | _WINDOWED | {"query_pre_attn_scalar": 128, "attn_logit_softcapping": 20.0}),
    "qwen2": (Qwen2Config, {"num_attention_heads": 2, "num_key_value_heads": 1}),
    "qwen3": (Qwen3Config, _HEADS),
    "gemma3": (Gemma3TextConfig, _HEADS | _WINDOWED | {"query_pre_attn_scalar": 128}),
    "qwen3_moe": (Qwen3MoeConfig, _HEADS | _ALL_EXPERTS | {"num_experts": 4}),
    "deepseek_v3": (DeepseekV3Config, _LATENT | _ALL_EXPERTS),
}


class Check(Struct):
    """One model with one attention."""

    model: str
    attention: str
    decoding: str
    """``graphs`` or ``eager``."""
    verdict: str
    """``right``, ``wrong``, ``wrong: `` and an error, or why it does not run."""
    near_ties: int = 0
    """In how many outputs another token was chosen where the reference nearly chose it too."""
    difference: float = 0.0
    """The largest between log probabilities, up to there."""
    allowed: float = 0.0


def save(name: str, folder: Path) -> Path:
    """Save a small model with random weights, which bfloat16 holds, and return its path."""
    kind, settings = MODELS[name]
    shape = {"vocab_size": VOCABULARY, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2}
    ends = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
    config = kind(**{**shape, **ends, "max_position_embeddings": 1024, "initializer_range": 0.1, **settings})
    torch.manual_seed(7)
    AutoModelForCausalLM.from_config(config).to(torch.bfloat16).save_pretrained(folder / name)
    return folder / name


def checks(name: str, path: Path, tokenizer: Any) -> Iterator[Check]:
    """What each attention says of this model that runs here, in bfloat16, with graphs and without."""
    expected = outputs(path, tokenizer, REFERENCE)
    rounding = _difference(expected, outputs(path, tokenizer, ("sdpa", "bfloat16", "eager")))
    for attention in ("flash2", "flash4", "sdpa"):
        for decoding in ("eager",) if attention == "sdpa" else ("eager", "graphs"):
            check = Check(name, attention, decoding, "right", allowed=max(NEAR_TIE, ROUNDING * rounding))
            try:
                compare(check, expected, outputs(path, tokenizer, (attention, "bfloat16", decoding)))
            except ModelError as error:
                check.verdict = str(error)
            except EngineError as error:  # it was tried at the start, and agreed
                check.verdict = f"wrong: {error}"
            yield check
            if check.verdict != "right":
                break


def compare(check: Check, expected: Sequence[Output], said: Sequence[Output]) -> None:
    """Enter in ``check`` whether what was said is what was expected, but for rounding."""
    check.difference = _difference(expected, said)
    left = [_left_at(one, other) for one, other in zip(expected, said, strict=True)]
    margins = [margin for margin in left if margin is not None]
    check.near_ties = len(margins)
    # What is said is the most probable: it is another token only where that much may decide.
    near = 2 * check.difference + NEAR_TIE
    if not (check.difference <= check.allowed and all(margin <= near for margin in margins)):
        check.verdict = "wrong"


def outputs(path: Path, tokenizer: Any, settings: Settings) -> list[Output]:
    """What the model says greedily to all prompts at once, and how probable each token was."""
    attention, dtype, decoding = settings
    engine = LocalEngine(
        path, name=path.name, tokenizer=tokenizer, dtype=dtype, attention=attention, max_num_seqs=8,  # type: ignore[arg-type]
        max_model_len=1024, enforce_eager=decoding == "eager",
    )  # fmt: skip
    return asyncio.run(_run(engine, graphs=decoding == "graphs"))


async def _run(engine: LocalEngine, *, graphs: bool) -> list[Output]:
    await engine.start()
    try:
        if graphs and engine.info.facts["cuda_graphs"].startswith("none"):
            raise ModelError(f"graphs: {engine.info.facts['cuda_graphs']}")
        prompts = [[(at * 37 + length) % VOCABULARY for at in range(length)] for length in LENGTHS]
        return await asyncio.gather(*(_say(engine, prompt) for prompt in prompts))
    finally:
        await engine.stop()


async def _say(engine: LocalEngine, prompt: list[int]) -> Output:
    sampling = SamplingParams(max_tokens=TOKENS, temperature=0, logprobs=TOP, ignore_eos=True)
    deltas = [delta async for delta in engine.submit(prompt, sampling)]
    tokens = [token for delta in deltas for token in delta.token_ids]
    return tokens, [each for delta in deltas for each in delta.logprobs]


def _left_at(expected: Output, said: Output) -> float | None:
    """By how much the expected token was more probable than the next one, where another was said; None: nowhere."""
    for one, other, logprobs in zip(expected[0], said[0], expected[1], strict=True):
        if one != other:
            (_, best), (_, second) = logprobs.top[:2]
            return best - second
    return None


def _difference(expected: Sequence[Output], said: Sequence[Output]) -> float:
    """The largest difference between log probabilities of a token after the same ones."""
    found = [0.0]
    for one, other in zip(expected, said, strict=True):
        for left, right, token, same in zip(one[1], other[1], one[0], other[0], strict=True):
            theirs = dict(right.top)
            found += [abs(logprob - theirs[each]) for each, logprob in left.top if each in theirs]
            if token != same:
                break
    return float(torch.tensor(found).max())  # NaN, where one is
