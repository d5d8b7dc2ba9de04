"""How large the parts of a request may be."""

from __future__ import annotations

from typing import Any

from toolglot.errors import RequestError
from toolglot.server.ask import Ask
from toolglot.server.config import ServerConfig
from toolglot.server.encoding import encode_json
from toolglot.server.response_format import SCHEMA


def check_limits(ask: Ask, config: ServerConfig) -> None:
    """Refuse what is larger than the operator allows.

    Raises:
        RequestError: so it is; ``param`` is the field.
    """
    _check_number("messages", len(ask.messages), config.max_messages, ask.sampling.prompt_param)
    _check_number("tools", len(ask.tools), config.max_tools, "tools")
    for number, tool in enumerate(ask.tools):
        _check_schema(tool.parameters, config, f"tools[{number}]")
    if ask.response_format is not None:
        _check_schema(ask.response_format.schema, config, SCHEMA)


def check_choices(n: int, config: ServerConfig) -> None:
    """Refuse more replies to a request than the operator allows.

    Raises:
        RequestError: so it is.
    """
    if n > config.max_choices:
        message = f"`n` is {n}; this server makes {config.max_choices} replies to a request at most"
        raise RequestError(message, param="n")


def _check_number(what: str, number: int, most: int, param: str) -> None:
    if number > most:
        raise RequestError(f"the request has {number} {what}; this server takes {most} at most", param=param)


def _check_schema(schema: Any, config: ServerConfig, param: str) -> None:
    size = len(encode_json(schema))
    if size > config.max_schema_bytes:
        message = f"the schema at `{param}` has {size} bytes; this server takes {config.max_schema_bytes} at most"
        raise RequestError(message, param=param)
