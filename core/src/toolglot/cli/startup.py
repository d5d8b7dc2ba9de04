"""What ``toolglot serve`` does before it serves: everything cheap is checked before weights are loaded."""

from __future__ import annotations

import logging
import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from toolglot.cli import api_keys, checks, reading
from toolglot.cli.arguments import UsageError

if TYPE_CHECKING:
    from toolglot.checkpoints import Checkpoint, Layout, TokenizerMode
    from toolglot.engine.local import LocalEngine
    from toolglot.parser import Parser
    from toolglot.prompts import Renderer
    from toolglot.requests import StrictLevel
    from toolglot.server import ServerConfig

logger = logging.getLogger("toolglot")

AUTO = "auto"
"""In place of a parser's name: the one that fits the model."""


def serve(arguments: Namespace) -> None:
    """Serve until told to stop. Raises UsageError, PluginError or ModelError when that cannot be."""
    from toolglot.cli import gateway, replaying

    checks.require_extras()
    configure_log(arguments)
    remote = gateway.is_asked(arguments)
    outputs = None if remote else replaying.outputs_file(arguments)
    require_no_template(arguments, arguments.tokenizer_mode)
    if outputs is None and not remote:
        preset(arguments)
    checks.require_flags(arguments)
    layout(arguments)
    checks.enforcement(os.environ)
    api_keys.api_keys(arguments, os.environ)
    reading.load_plugin_files(arguments.tool_parser_plugin, replace=arguments.replace_parser)
    load_parser(arguments, tokenizer=None)
    checks.require_template(arguments.chat_template)
    checks.require_port(arguments.host, arguments.port)
    if remote:
        gateway.load_and_serve(arguments)
    elif outputs is None:
        load_and_serve(arguments)
    else:
        replaying.load_and_serve(arguments, outputs)


def configure_log(arguments: Namespace) -> None:
    """Log as the flags say."""
    from toolglot.server import logs

    logs.configure(arguments.log_level, arguments.log_format)


def load_and_serve(arguments: Namespace) -> None:
    """Load the model and serve it; the tokenizer's part comes before the weights."""
    from toolglot import checkpoints

    checkpoint = checkpoints.resolve(arguments.model, layout=layout(arguments))
    logger.info("model: %s, in %s", checkpoint.name, checkpoint.path)
    mode = checkpoints.tokenizer_mode(checkpoint.path, arguments.tokenizer_mode)
    require_no_template(arguments, mode)
    tokenizer = checkpoints.load_tokenizer(checkpoint.path, mode)
    detect_parser(arguments, checkpoint.path, tokenizer)
    parser = load_parser(arguments, tokenizer=tokenizer)
    prompts = load_prompts(arguments, mode, tokenizer, parser)
    engine = load_engine(arguments, checkpoint, tokenizer)
    log_settings(arguments, mode, parser)
    run_app(arguments, engine=engine, tokenizer=tokenizer, prompts=prompts, parser=parser)


def run_app(arguments: Namespace, **served: Any) -> None:
    """Serve what :func:`toolglot.server.create_app` takes, as the flags say."""
    from toolglot import server

    config = server_config(arguments)
    server.run(server.create_app(config, **served), config)


def preset(arguments: Namespace) -> None:
    """Without a model, set what the demo model needs and the flags leave open. The template is that of its parser:
    another parser's calls are not what it asks for.
    """
    from toolglot.checkpoints import demo

    if arguments.model is not None:
        return
    logger.info("no MODEL was given: serving the demo model")
    arguments.enable_auto_tool_choice = True
    if arguments.tool_call_parser not in (None, AUTO, demo.PRESETS["tool_call_parser"]):
        return
    for name, value in demo.PRESETS.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)


def layout(arguments: Namespace) -> Layout:
    """Whose files the checkpoint is read from. Raises UsageError."""
    chosen: set[Layout] = {arguments.config_format, arguments.load_format} - {"auto"}
    if len(chosen) > 1:
        raise UsageError("--config-format and --load-format differ: config and weights are read in one format")
    return chosen.pop() if chosen else "auto"


def load_parser(arguments: Namespace, *, tokenizer: Any) -> Parser | None:
    """The parser that the flags name, or None. Raises PluginError, UsageError."""
    if arguments.tool_call_parser in (None, AUTO):
        return None
    return reading.load_parser(arguments.tool_call_parser, tokenizer=tokenizer, reasoning=arguments.reasoning_parser)


def require_no_template(arguments: Namespace, mode: str) -> None:
    """Raise UsageError for a chat template that nothing would read."""
    if mode == "mistral" and arguments.chat_template is not None:
        raise UsageError(
            f"--chat-template {arguments.chat_template}: mistral-common writes this model's prompts, without a "
            "template; leave the flag out, or add --tokenizer-mode hf"
        )


def load_prompts(arguments: Namespace, mode: TokenizerMode, tokenizer: Any, parser: Parser | None) -> Renderer:
    """What renders prompts: mistral-common or a chat template. Raises ModelError, UsageError."""
    from toolglot.prompts import PromptRenderer, find_template

    if mode == "mistral":
        from toolglot.prompts.mistral import MistralRenderer

        return MistralRenderer(tokenizer)
    template = None if arguments.chat_template is None else find_template(arguments.chat_template, tokenizer)
    return PromptRenderer(tokenizer, chat_template=template, keep=reasoning_fences(parser))


def detect_parser(arguments: Namespace, folder: Path, tokenizer: Any) -> None:
    """Replace ``auto`` by the name of the parser that fits the model. Raises ModelError; UndecidedError."""
    from toolglot import detection
    from toolglot.checkpoints import read_evidence
    from toolglot.prompts import find_template

    if arguments.tool_call_parser != AUTO:
        return
    evidence = read_evidence(folder)
    if arguments.chat_template is not None:
        evidence = replace(evidence, template=find_template(arguments.chat_template, tokenizer))
    found = detection.detect(evidence)
    arguments.tool_call_parser = found.name
    logger.info("--tool-call-parser auto: %s, since %s", found.name, found.reason)


def load_engine(arguments: Namespace, checkpoint: Checkpoint, tokenizer: Any) -> LocalEngine:
    """The engine, with its weights loaded. Raises ModelError."""
    from toolglot.engine.local import LocalEngine

    return LocalEngine(
        checkpoint.path,
        name=checkpoint.name,
        tokenizer=tokenizer,
        dtype=arguments.dtype,
        threads=arguments.threads,
        max_model_len=arguments.max_model_len,
        max_num_seqs=arguments.max_num_seqs,
        max_queue=arguments.max_queue,
        max_num_batched_tokens=arguments.max_num_batched_tokens,
        kv_cache_memory_bytes=arguments.kv_cache_memory_bytes,
        attention=arguments.attention,
        lookup=arguments.speculative_config,
        enforce_eager=arguments.enforce_eager,
        seed=arguments.seed,
    )


def server_config(arguments: Namespace) -> ServerConfig:
    """What the flags say about the server."""
    from toolglot.server import ServerConfig

    return ServerConfig(
        served_model_names=tuple(arguments.served_model_name),
        host=arguments.host,
        port=arguments.port,
        api_keys=api_keys.api_keys(arguments, os.environ),
        isolate_prefix_cache=arguments.isolate_prefix_cache,
        allowed_origins=tuple(arguments.allowed_origins),
        enable_auto_tool_choice=arguments.enable_auto_tool_choice,
        exclude_tools_when_tool_choice_none=arguments.exclude_tools_when_tool_choice_none,
        default_chat_template_kwargs=arguments.default_chat_template_kwargs,
        repair=arguments.repair == "on",
        incomplete_calls=arguments.incomplete_calls,
        unknown_tools=arguments.unknown_tools,
        strict_level=arguments.tool_strict_level,
        enforce_strict_tool_calling=checks.enforcement(os.environ),
        any_property_order=arguments.tool_any_property_order,
        extensions=not arguments.no_extensions,
        max_choices=arguments.max_choices,
        max_stored_responses=arguments.max_stored_responses,
        max_stored_bytes=arguments.max_stored_bytes,
        max_body_bytes=arguments.max_body_bytes,
        max_messages=arguments.max_messages,
        max_tools=arguments.max_tools,
        max_schema_bytes=arguments.max_schema_bytes,
        max_tokens_limit=arguments.max_tokens_limit,
        max_requests=arguments.max_requests,
        client_timeout=arguments.client_timeout,
        shutdown_timeout=arguments.shutdown_timeout,
        log_prompts=arguments.log_prompts,
    )


def log_settings(arguments: Namespace, mode: TokenizerMode, parser: Parser | None) -> None:
    """One line each: the parser and where it is from, what is enforced and why, the chat template. Engine and server
    log their own facts.
    """
    logger.info("parser: %s", describe(parser))
    if parser is not None:
        logger.info("strict level: %s", describe_level(arguments.tool_strict_level, parser))
    own = "none, mistral-common writes the prompts" if mode == "mistral" else "the tokenizer's own"
    logger.info("chat template: %s", arguments.chat_template or own)


def describe(parser: Parser | None) -> str:
    """The parser's name, and the distribution and version that it is from."""
    if parser is None or parser.source is None:
        return "none, so tool calls stay in the content"
    return f"{parser.name}, from {parser.source.distribution} {parser.source.version}"


def describe_level(asked: StrictLevel | None, parser: Parser) -> str:
    """How much of tool calls is enforced at the least, and why."""
    from toolglot.server.strict import recommended_level

    recommended = recommended_level(parser)
    if not checks.enforcement(os.environ):
        name = next(name for name in checks.ENFORCEMENT if name in os.environ)
        return f"none, as {name}={os.environ[name]}: no grammar holds tool calls, not even demanded or strict ones"
    if asked is not None:
        return f"{asked}, as asked"
    return f"{recommended}, as {parser.name} recommends" if recommended else "auto, the default"


def reasoning_fences(parser: Parser | None) -> frozenset[str]:
    """The markers of the parser's reasoning: chat templates look for them in earlier answers."""
    form = getattr(parser and parser.plugin, "form", None)
    if form is None or form.reasoning is None:
        return frozenset()
    fence = form.reasoning.fence
    return frozenset(spelling.strip() for spelling in (*fence.open, *fence.close))
