"""Checkpoint folders with tokenizers of every generation, made of the vocabulary in mistral-common's wheel."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mistral_common
import pytest

from toolglot.tokens.mistral import MistralTokenizer

DATA = Path(mistral_common.__file__).parent / "data"
WORDS = 4000
"""How much of the vocabulary is kept: the whole takes a second to load, and others to compile a grammar for."""
CONTROL = [
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"),
    *("[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]"),
    *("[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
]
LATER = {
    11: ["[ARGS]", "[CALL_ID]"],
    13: ["[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"],
    15: ["[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]", "[MODEL_SETTINGS]", "[/MODEL_SETTINGS]"],
}
EFFORTS = {"type": "enum", "accepts_none": True, "default": "none", "values": ["none", "high"]}
SENTENCEPIECE = {
    "sp3": "mistral_instruct_tokenizer_240323.model.v3",
    "sp7": "mistral_instruct_tokenizer_241114.model.v7",
}

TekkenWriter = Callable[[int, Path], None]


@pytest.fixture(scope="session")
def write_tekken() -> TekkenWriter:
    """``write_tekken(version, folder)`` writes a ``tekken.json`` with control tokens as Mistral's own have them."""
    source = json.loads((DATA / "tekken_240718.json").read_text("utf-8"))

    def write(version: int, folder: Path) -> None:
        control = CONTROL + LATER.get(version, [])
        special = [{"rank": rank, "token_str": text, "is_control": True} for rank, text in enumerate(control)]
        sizes = {"default_num_special_tokens": len(control) + 4, "default_vocab_size": WORDS + len(control) + 4}
        made: dict[str, Any] = {
            "config": source["config"] | sizes | {"version": f"v{version}"},
            "vocab": source["vocab"][:WORDS],
            "special_tokens": special,
        }
        if version >= 15:
            made["model_settings_builder"] = {"reasoning_effort": EFFORTS}
        (folder / "tekken.json").write_text(json.dumps(made), "utf-8")

    return write


@pytest.fixture(scope="session")
def tokenizer_of(
    write_tekken: TekkenWriter, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int | str], MistralTokenizer]:
    """``tokenizer_of(11)``: tekken of that version; ``tokenizer_of("sp3")``: the SentencePiece model of v3."""
    made: dict[int | str, MistralTokenizer] = {}

    def load(version: int | str) -> MistralTokenizer:
        if version not in made:
            folder = tmp_path_factory.mktemp(f"{version}")
            if isinstance(version, int):
                write_tekken(version, folder)
            else:
                shutil.copy(DATA / SENTENCEPIECE[version], folder / f"tokenizer.model.v{version[2:]}")
            made[version] = MistralTokenizer(next(folder.iterdir()))
        return made[version]

    return load


@pytest.fixture(scope="session")
def weather() -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    }
    return {"type": "function", "function": {"name": "get_weather", "parameters": parameters}}
