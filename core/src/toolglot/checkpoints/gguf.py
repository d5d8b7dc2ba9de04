"""GGUF files, converted once to a safetensors checkpoint: transformers reads GGUF, but slowly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from toolglot.checkpoints.cache import cache_dir, file_sha256, make_once
from toolglot.checkpoints.progress import Report, progress, quiet_transformers
from toolglot.errors import ModelError

_REVISION: Final = 1
"""Part of the cache's key: raised when this conversion changes what it writes."""

_DIGIT_SPLITS: Final = frozenset({"smollm", "starcoder", "refact", "command-r"})
"""Values of ``tokenizer.ggml.pre`` that cut numbers into digits; transformers does not know them."""

_TURN_ENDS: Final = frozenset({"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>"})
"""Control tokens that end a turn wherever they exist; a GGUF names one of them at most as its end of sequence."""


def converted(file: Path, *, sha256: str | None = None, quiet: bool = False) -> Path:
    """Return the checkpoint directory that was made of ``file``, converting it at the first use.

    ``sha256`` is the file's, where it is known already.

    Raises:
        ModelError: the file is no GGUF model that transformers can read.
    """

    def fill(made: Path) -> None:
        with progress(f"Converting {file.name} (once)", quiet=quiet) as report:
            convert(file, made, report)

    return make_once(location(sha256 or file_sha256(file)), fill)


def location(sha256: str) -> Path:
    """Where the checkpoint of the file with this sha256 is or would be."""
    return cache_dir() / "gguf" / f"{sha256}-{_REVISION}"


def convert(file: Path, target: Path, report: Report) -> None:
    """Write weights (float32), config, generation config and tokenizer of ``file`` into the directory ``target``.

    Raises:
        ModelError: the file is no GGUF model that transformers can read.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with quiet_transformers(report):
        try:
            source: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True, "trust_remote_code": False}
            tokenizer = AutoTokenizer.from_pretrained(file.parent, **source)
            model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **source)
        except Exception as error:  # gguf and transformers raise whatever a broken or unknown file makes them
            raise ModelError(f"{file} cannot be read as a GGUF model: {error}") from error
        metadata = _metadata(file)
        _restore_digits(tokenizer, metadata)
        _set_stop_ids(model, tokenizer, metadata)
        # The weights are dense now: what says otherwise would make the next loader look for the GGUF file.
        del model.config.quantization_config
        model.hf_quantizer = None
        model.save_pretrained(target)
        tokenizer.save_pretrained(target)


def _metadata(file: Path) -> dict[str, Any]:
    from gguf import GGUFReader

    fields = GGUFReader(file).fields
    wanted = ("tokenizer.ggml.pre", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id")
    return {key: fields[key].contents() for key in wanted if key in fields}


def _restore_digits(tokenizer: Any, metadata: Mapping[str, Any]) -> None:
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    if metadata.get("tokenizer.ggml.pre") in _DIGIT_SPLITS:
        splits = [Digits(individual_digits=True), ByteLevel(add_prefix_space=False, use_regex=True)]
        tokenizer.backend_tokenizer.pre_tokenizer = Sequence(splits)


def _set_stop_ids(model: Any, tokenizer: Any, metadata: Mapping[str, Any]) -> None:
    stops = {tokenizer.eos_token_id, model.config.eos_token_id}
    stops |= {metadata.get(f"tokenizer.ggml.{kind}_token_id") for kind in ("eot", "eom")}
    control = {token.content: number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    stops |= {control.get(end) for end in _TURN_ENDS}
    model.generation_config.eos_token_id = sorted(stops - {None})
