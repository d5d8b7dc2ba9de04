"""The shipped templates with what ends their turns, and a Jinja environment like that of transformers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from functools import cache, partial
from typing import Any, NamedTuple

import pytest
from jinja2 import Template
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

import toolglot_templates

PREFIX = "tool_chat_template_"
TOKENS = {"bos_token": "<BOS>", "eos_token": "<EOS>"}

Render = Callable[..., str]


class Family(NamedTuple):
    """A template: the parser of its calls, what closes a turn (``calls_end`` one with calls), and whether it writes
    content beside calls, reasoning and images. ``skipped`` is what a prompt opens a turn with, and history does not.
    """

    name: str
    parser: str
    end: str
    calls_end: str | None = None
    content: bool = True
    reasoning: bool = False
    images: bool = False
    skipped: str = ""

    def ends(self, message: dict[str, Any]) -> str:
        """What closes the turn of a message."""
        return self.end if self.calls_end is None or not message.get("tool_calls") else self.calls_end


EOS = "<｜end▁of▁sentence｜>"
FAMILIES = (
    Family("hermes", "hermes", "<|im_end|>\n"),
    Family("mistral", "mistral", "<EOS>"),
    Family("mistral_parallel", "mistral", "<EOS>"),
    Family("llama3.1_json", "llama3_json", "<|eot_id|>"),
    Family("llama3.2_json", "llama3_json", "<|eot_id|>", images=True),
    Family("llama3.2_pythonic", "pythonic", "<|eot_id|>", content=False),
    Family("llama4_json", "llama4_json", "<|eot|>", images=True),
    Family("llama4_pythonic", "llama4_pythonic", "<|eot|>", images=True),
    Family("granite", "granite", "<|end_of_text|>\n"),
    Family("granite_20b_fc", "granite-20b-fc", "<|endoftext|>"),
    Family("internlm2_tool", "internlm", "<|im_end|>\n"),
    Family("xlam_llama", "xlam", "<|eot_id|>", content=False),
    Family("xlam_qwen", "xlam", "<|im_end|>\n", content=False),
    Family("deepseekv3", "deepseek_v3", EOS),
    Family("deepseekr1", "deepseek_v3", EOS),
    Family("deepseekv31", "deepseek_v31", EOS),
    Family("functiongemma", "functiongemma", "<end_of_turn>\n", calls_end=""),
    Family("apertus", "apertus", "<|assistant_end|>", calls_end="", reasoning=True),
    Family("toolace", "pythonic", "<|eot_id|>", content=False),
    Family("olmo3", "olmo3", "<|im_end|>\n", reasoning=True),
    Family(
        "gemma4",
        "gemma4",
        "<turn|>\n",
        calls_end="",
        reasoning=True,
        images=True,
        skipped="<|channel>thought\n<channel|>",
    ),
    Family("qwen3coder", "qwen3_coder", "<|im_end|>\n"),
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that takes a ``family`` with all of them; one that takes ``parts``, with those that see images."""
    if "family" in metafunc.fixturenames:
        chosen = [family for family in FAMILIES if family.images or "parts" not in metafunc.fixturenames]
        metafunc.parametrize("family", chosen, ids=[family.name for family in chosen])


@pytest.fixture(scope="session")
def environment() -> ImmutableSandboxedEnvironment:
    """A sandbox with the options, filters and functions with which transformers renders templates."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment


@pytest.fixture(scope="session")
def write(environment: ImmutableSandboxedEnvironment) -> Render:
    """Render messages with a template; ``prompt`` asks for the generation prompt."""

    @cache
    def compiled(name: str) -> Template:
        return environment.from_string(toolglot_templates.read(PREFIX + name))

    def rendered(name: str, *messages: Any, tools: Any = None, prompt: bool = False, **kwargs: Any) -> str:
        variables = {**TOKENS, "messages": list(messages), "tools": tools, "add_generation_prompt": prompt, **kwargs}
        return compiled(name).render(**variables)

    return rendered


@pytest.fixture
def render(family: Family, write: Render) -> Render:
    """As ``write``, with the family's template."""
    return partial(write, family.name)


@pytest.fixture
def parts() -> Callable[..., dict[str, Any]]:
    """A message of the user with an image between texts."""

    def message(kind: str) -> dict[str, Any]:
        parts = [{"type": "text", "text": "See"}, {"type": kind, kind: "x.png"}, {"type": "text", "text": "there."}]
        return {"role": "user", "content": parts}

    return message


def tojson(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class TemplateError(Exception):
    """A template refuses a conversation."""


def raise_exception(message: str) -> None:
    raise TemplateError(message)
