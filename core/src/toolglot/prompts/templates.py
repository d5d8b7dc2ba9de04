"""Finding the chat template that ``--chat-template`` names."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import toolglot_templates
from toolglot.errors import ModelError

_log = logging.getLogger(__name__)


def find_template(name: str, tokenizer: Any) -> str:
    """The Jinja text of a chat template.

    ``name`` is the path of a file, the name of a template that is shipped with toolglot (with or without ``.jinja``),
    or the name of one of the tokenizer's own templates, such as ``tool_use``; the first that exists is taken. Where
    there is no such file, but a shipped template of its name, that is taken, with a warning.

    Raises:
        ModelError: nothing has this name, or the file cannot be read; the message lists the names.
    """
    if _is_file(name):
        return _read_file(name)
    if (shipped := shipped_name(name)) is not None:
        return _read_shipped(shipped, name)
    own = _own_templates(tokenizer)
    if name in own:
        return own[name]
    raise ModelError(
        f"no chat template {name!r}: give the path of a file, a shipped name ({_listed(toolglot_templates.names())}), "
        f"or one of the model's own templates ({_listed(own)})"
    )


def shipped_name(name: str) -> str | None:
    """The shipped template that ``name`` means, or None.

    A path means the template of its file's name: vLLM's guide writes ``examples/tool_chat_template_hermes.jinja``.
    """
    stem = PurePath(name).name.removesuffix(".jinja")
    return stem if stem in toolglot_templates.names() else None


def _read_shipped(shipped: str, name: str) -> str:
    if PurePath(name).name != name:
        _log.warning("there is no chat template %s; using %s, which is shipped with toolglot", name, shipped)
    return toolglot_templates.read(shipped)


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:  # too long for a path
        return False


def _read_file(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"the chat template {path} cannot be read: {error}") from error


def _own_templates(tokenizer: Any) -> dict[str, str]:
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, Mapping):
        return dict(template)
    return {} if template is None else {"default": template}


def _listed(names: Any) -> str:
    return ", ".join(sorted(names)) or "none"
