"""``toolglot serve MODEL --engine vllm --engine-url URL``: an engine that runs elsewhere writes the replies."""

from __future__ import annotations

import asyncio
import json
import os
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from toolglot.cli import api_keys, replaying, startup
from toolglot.cli.arguments import UsageError
from toolglot.cli.engines import ENGINES

if TYPE_CHECKING:
    from toolglot.backends.dialect import Dialect
    from toolglot.backends.link import Timeouts
    from toolglot.backends.probe import Found

API_KEY = "TOOLGLOT_ENGINE_API_KEY"
_FLAGS = ("engine_url", "engine_model", "engine_api_key_file")
_LOCAL = {
    "dtype": "auto",
    "threads": None,
    "attention": "auto",
    "seed": None,
    "max_num_batched_tokens": None,
    "kv_cache_memory_bytes": None,
    "speculative_config": None,
    "enforce_eager": False,
}
"""Flags of the embedded engine, with their defaults."""
_CONFIGS = ("generation_config.json", "config.json")


def is_asked(arguments: Namespace) -> bool:
    """Whether the flags name an engine elsewhere. Raises UsageError: they do not go together."""
    if arguments.engine not in ENGINES:
        if given := [name for name in _FLAGS if getattr(arguments, name)]:
            raise UsageError(f"--{given[0].replace('_', '-')} goes with --engine {', '.join(ENGINES)}")
        return False
    if not arguments.engine_url:
        raise UsageError(f"--engine {arguments.engine} needs --engine-url, such as http://127.0.0.1:8001")
    if arguments.model is None and arguments.tokenizer is None:
        raise UsageError(f"--engine {arguments.engine} needs MODEL (or --tokenizer DIR): the model that it serves")
    for name, default in _LOCAL.items():
        if getattr(arguments, name) != default:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} goes with --engine local: {arguments.engine} has settings of its own")
    for url in arguments.engine_url:
        _check_url(url)
    api_key(arguments, os.environ)
    return True


def api_key(arguments: Namespace, environment: Mapping[str, str]) -> str | None:
    """The key that the engine asks for: of the file, or of the environment. Raises UsageError: it is none."""
    if arguments.engine_api_key_file is not None:
        keys = api_keys.of_file(arguments.engine_api_key_file, "--engine-api-key-file")
        where = f"--engine-api-key-file {arguments.engine_api_key_file}"
    elif API_KEY in environment:
        keys, where = [environment[API_KEY]], API_KEY
    else:
        return None
    if len(keys) > 1:
        raise UsageError(f"{where}: it holds {len(keys)} keys; an engine takes one")
    api_keys.check(where, keys[0])
    return keys[0]


def load_and_serve(arguments: Namespace) -> None:
    """As :func:`toolglot.cli.startup.load_and_serve`, without weights. Raises UsageError, PluginError, ModelError."""
    from toolglot.backends.dialects import DIALECTS
    from toolglot.backends.remote import RemoteEngine, Target

    dialect = DIALECTS[arguments.engine]()
    folder = replaying.tokenizer_folder(arguments)
    assert folder is not None, "is_asked has seen to it"
    mode, tokenizer = replaying.load_tokenizer(arguments, folder)
    key, urls = api_key(arguments, os.environ), tuple(url.rstrip("/") for url in arguments.engine_url)
    found = _probe(arguments, dialect, urls, folder, tokenizer, key)
    if arguments.isolate_prefix_cache and "cache_salt" not in found.takes:
        raise UsageError(f"--isolate-prefix-cache: {dialect.name} keeps no caches apart; leave the flag out")
    target = Target(
        dialect=dialect,
        urls=urls,
        model=found.model,
        takes=found.takes,
        api_key=key,
        timeouts=_timeouts(arguments),
        max_running=arguments.max_num_seqs + arguments.max_queue,
    )
    engine = RemoteEngine(target, _info(arguments, dialect, found, folder, tokenizer), tokenizer)
    parser = startup.load_parser(arguments, tokenizer=tokenizer)
    prompts = startup.load_prompts(arguments, mode, tokenizer, parser)
    startup.log_settings(arguments, mode, parser)
    startup.run_app(arguments, engine=engine, tokenizer=tokenizer, prompts=prompts, parser=parser)


def _probe(
    arguments: Namespace, dialect: Dialect, urls: tuple[str, ...], folder: Path, tokenizer: Any, key: str | None
) -> Found:
    from toolglot.backends.probe import probe

    found = asyncio.run(
        probe(
            dialect,
            urls,
            wanted=arguments.engine_model,
            guesses=tuple(dict.fromkeys((arguments.model or folder.name, _name(arguments, folder), folder.name))),
            tokenizer=tokenizer,
            api_key=key,
            timeouts=_timeouts(arguments),
        )
    )
    for missing in found.missing:
        startup.logger.warning("%s; the others are used until it is there", missing)
    return found


def _info(arguments: Namespace, dialect: Dialect, found: Found, folder: Path, tokenizer: Any) -> Any:
    from toolglot.backends.dialect import FIELDS
    from toolglot.engine.protocol import ModelInfo
    from toolglot.tokens.table import token_table

    return ModelInfo(
        name=_name(arguments, folder),
        max_model_len=_length(arguments.max_model_len, found.max_model_len, dialect.name),
        vocab_size=len(token_table(tokenizer).texts),
        stop_token_ids=stop_token_ids(folder, tokenizer),
        facts={
            "engine": dialect.name,
            "replicas": " and ".join(arguments.engine_url),
            "its name for the model": found.model,
            "grammars": dialect.capabilities.grammar,
            "token ids": dialect.capabilities.token_ids,
            "fields that it does not obey": " and ".join(sorted(FIELDS - found.takes)) or "none",
        },
    )


def stop_token_ids(folder: Path, tokenizer: Any) -> frozenset[int]:
    """Every id that the configs in a checkpoint's directory and its tokenizer name as an end of sequence."""
    found: set[int] = {tokenizer.eos_token_id} - {None}
    for name in _CONFIGS:
        try:
            value = json.loads((folder / name).read_bytes()).get("eos_token_id")
        except (OSError, ValueError, AttributeError):  # a model in another layout has none
            continue
        found.update(one for one in (value if isinstance(value, list) else [value]) if isinstance(one, int))
    return frozenset(found)


def _length(asked: int | None, told: int | None, engine: str) -> int:
    if told is None and asked is None:
        raise UsageError(f"this {engine} engine does not say how long a prompt and reply may be: give --max-model-len")
    if told is not None and asked is not None and asked > told:
        raise UsageError(f"--max-model-len {asked}: the engine takes {told}")
    return min(length for length in (asked, told) if length is not None)


def _timeouts(arguments: Namespace) -> Timeouts:
    from toolglot.backends.link import Timeouts

    return msgspec.structs.replace(
        Timeouts(), first_token=arguments.engine_first_token_timeout, next_token=arguments.engine_token_timeout
    )


def _name(arguments: Namespace, folder: Path) -> str:
    """What clients call the model."""
    given = arguments.model or arguments.tokenizer
    return folder.resolve().name if Path(given).is_dir() else str(given)


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise UsageError(f"--engine-url {url}: give an http or https URL without a query, as http://127.0.0.1:8001")
    if parts.path.rstrip("/").endswith("/v1"):
        raise UsageError(f"--engine-url {url}: leave /v1 out")
