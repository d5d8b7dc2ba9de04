"""``toolglot serve --engine replay:FILE``: prepared outputs in a model's place."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolglot.cli import startup
from toolglot.cli.arguments import UsageError
from toolglot.cli.engines import ENGINES

if TYPE_CHECKING:
    from toolglot.checkpoints import TokenizerMode

LOCAL, PREFIX = "local", "replay:"
BYTES = "one token a byte"
_MAX_MODEL_LEN = 131_072
"""No memory limits it."""
_TOKENIZER_FILES = ("*.json", "*.model", "*.txt", "*.jinja", "*.tiktoken", "tokenizer*.model.v*")


def outputs_file(arguments: Namespace) -> Path | None:
    """The file that the flags name; None: the engine is the local one. Raises UsageError."""
    engine: str = arguments.engine
    if engine == LOCAL:
        if arguments.tokenizer is not None:
            raise UsageError("--tokenizer is for other engines: a model's own tokenizer lies beside its weights")
        return None
    file = engine.removeprefix(PREFIX)
    if file == engine or not file:
        raise UsageError(f"--engine {engine}: use local, replay:FILE, or one of {', '.join(ENGINES)}")
    if not Path(file).is_file():
        raise UsageError(f"--engine {engine}: no such file")
    return Path(file)


def load_and_serve(arguments: Namespace, file: Path) -> None:
    """As :func:`toolglot.cli.startup.load_and_serve`, without weights. Raises UsageError, PluginError, ModelError."""
    from toolglot.backends.prepared import read_outputs
    from toolglot.backends.replay import ReplayEngine
    from toolglot.tokens.table import token_table

    folder = tokenizer_folder(arguments)
    mode, tokenizer = load_tokenizer(arguments, folder)
    outputs = read_outputs(file, len(token_table(tokenizer).texts))
    engine = ReplayEngine(
        outputs,
        tokenizer,
        name="replay" if folder is None else folder.resolve().name,
        max_model_len=arguments.max_model_len or _MAX_MODEL_LEN,
        max_running=arguments.max_num_seqs + arguments.max_queue,
    )
    parser = startup.load_parser(arguments, tokenizer=tokenizer)
    prompts = startup.load_prompts(arguments, mode, tokenizer, parser)
    startup.logger.info("engine: replay of %d outputs in %s, tokenizer: %s", len(outputs), file, folder or BYTES)
    startup.log_settings(arguments, mode, parser)
    startup.run_app(arguments, engine=engine, tokenizer=tokenizer, prompts=prompts, parser=parser)


def tokenizer_folder(arguments: Namespace) -> Path | None:
    """The directory of the checkpoint whose tokenizer is used; None for the built-in one."""
    from toolglot.checkpoints.checkpoint import files_of

    given = arguments.tokenizer or arguments.model
    if given is None:
        return None
    if given.endswith(".gguf"):
        engine = arguments.engine.partition(":")[0]
        raise UsageError(f"{given}: with --engine {engine} give a directory or hub name, or --tokenizer DIR")
    if arguments.tokenizer is not None and not Path(given).is_dir():
        raise UsageError(f"--tokenizer {given}: no such directory")
    return files_of(given, _TOKENIZER_FILES)


def load_tokenizer(arguments: Namespace, folder: Path | None) -> tuple[TokenizerMode, Any]:
    """The tokenizer in a directory, or the built-in one, and whose it is. A parser ``auto`` is found for it."""
    from toolglot import checkpoints
    from toolglot.backends.byte_tokenizer import byte_tokenizer

    if folder is not None:
        mode = checkpoints.tokenizer_mode(folder, arguments.tokenizer_mode)
        startup.require_no_template(arguments, mode)
        tokenizer = checkpoints.load_tokenizer(folder, mode)
        startup.detect_parser(arguments, folder, tokenizer)
        return mode, tokenizer
    if arguments.tool_call_parser == startup.AUTO:
        raise UsageError("--tool-call-parser auto needs MODEL or --tokenizer DIR to look at; name a parser")
    parser = startup.load_parser(arguments, tokenizer=None)
    return "hf", byte_tokenizer(getattr(parser and parser.plugin, "form", None))
