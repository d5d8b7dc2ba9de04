"""What is checked before weights are loaded: the cheap errors of ``toolglot serve``."""

from __future__ import annotations

import importlib.util
import socket
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from toolglot.cli.arguments import UsageError

EXTRAS = {
    "engine": ("torch", "transformers", "accelerate", "gguf", "safetensors", "rich", "platformdirs"),
    "grammar": ("xgrammar",),
    "server": ("starlette", "uvicorn", "jinja2", "jsonschema_rs", "prometheus_client", "aiohttp", "toolglot_templates"),
}

ENFORCEMENT = ("TOOLGLOT_ENFORCE_STRICT_TOOL_CALLING", "VLLM_ENFORCE_STRICT_TOOL_CALLING")
"""Variables of the environment that say whether tool calls are held to a grammar at all."""
OFF, ON = ("0", "false", "no", "off"), ("1", "true", "yes", "on")


def require_extras() -> None:
    """Raise UsageError when what the server needs is not installed."""
    missing = [extra for extra, modules in EXTRAS.items() if not all(map(importlib.util.find_spec, modules))]
    if missing:
        raise UsageError(f"serve needs more than the parsers; try: pip install 'toolglot[{','.join(missing)}]'")


def require_flags(arguments: Namespace) -> None:
    """Raise UsageError for flags that need another one."""
    import toolglot

    for name in arguments.served_model_name:
        if arguments.model is None and (name.endswith(".gguf") or Path(name).exists()):
            raise UsageError(f"--served-model-name takes {name} for a name; write the model before the flags")
    if arguments.tool_call_parser is not None:
        return
    for flag in ("enable_auto_tool_choice", "reasoning_parser", "tool_strict_level"):
        if getattr(arguments, flag):
            names = ", ".join(toolglot.parser_names())
            raise UsageError(f"--{flag.replace('_', '-')} needs --tool-call-parser; one of: {names}")


def enforcement(environment: Mapping[str, str]) -> bool:
    """Whether tool calls are ever held to a grammar: yes, unless a variable of the environment says no.

    toolglot's own variable wins over vLLM's. Raises UsageError for a value that is none.
    """
    for name in ENFORCEMENT:
        value = environment.get(name)
        if value is None:
            continue
        if value.lower() in (*OFF, *ON):
            return value.lower() in ON
        raise UsageError(f"{name}={value!r}: use one of {', '.join(OFF)}, or one of {', '.join(ON)}")
    return True


def require_template(name: str | None) -> None:
    """Raise UsageError when ``name`` is written as a path and nothing is there; other names need the tokenizer."""
    from toolglot.prompts.templates import shipped_name

    if name is None or not ("/" in name or name.endswith(".jinja")):
        return
    if not Path(name).is_file() and shipped_name(name) is None:
        raise UsageError(f"--chat-template {name}: no such file; give an existing file, or a template by name")


def require_port(host: str, port: int) -> None:
    """Raise UsageError when nothing can listen on ``host`` and ``port``."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}; try another --port or --host") from error
