"""``--config FILE``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from toolglot.cli import argument_parser
from toolglot.cli.arguments import UsageError
from toolglot.cli.config_file import with_config

Refused = Callable[..., str]
Read = Callable[..., Namespace]

EVERYTHING = """
model = "./Qwen3-0.6B"
port = 9000
host = "0.0.0.0"
tool-call-parser = "hermes"
enable-auto-tool-choice = true
no-extensions = false
served-model-name = ["qwen", "small"]
api-key = ["one", "two"]
seed = -1
[default-chat-template-kwargs]
enable_thinking = false
"""


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The arguments of ``serve`` with this file and these flags."""

    def read(text: str, *flags: str) -> Namespace:
        path = tmp_path / "toolglot.toml"
        path.write_text(text)
        argv, parser = ["serve", *flags, "--config", str(path)], argument_parser()
        first = parser.parse_args(argv)
        return parser.parse_args(with_config(argv, first.parser))

    return read


def test_keys_are_names_of_flags(read: Read) -> None:
    found = read(EVERYTHING)
    assert (found.model, found.port, found.host, found.seed) == ("./Qwen3-0.6B", 9000, "0.0.0.0", -1)
    assert (found.tool_call_parser, found.enable_auto_tool_choice, found.no_extensions) == ("hermes", True, False)
    assert (found.served_model_name, found.api_key) == (["qwen", "small"], ["one", "two"])
    assert found.default_chat_template_kwargs == {"enable_thinking": False}


def test_flags_win(read: Read) -> None:
    flags = ("other", "--port=9001", "--api-key", "three", "--served-model-name", "mine", "--seed", "5")
    found = read(EVERYTHING, *flags)
    assert (found.model, found.port, found.seed) == ("other", 9001, 5)
    assert (found.api_key, found.served_model_name) == (["three"], ["mine"])
    assert found.host == "0.0.0.0"


def test_one_of_what_may_be_several(read: Read) -> None:
    found = read('served-model-name = "qwen"\napi-key = "one"\nallowed-origins = []')
    assert (found.served_model_name, found.api_key, found.allowed_origins) == (["qwen"], ["one"], [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "'prot' is no flag of toolglot serve; did you mean port?"),
        ("max_tools = 1", "'max_tools' is no flag of toolglot serve; did you mean max-tools?"),
        ('config = "x"', "'config' is no flag"),
        ("port = true", "'port' takes a value, not true"),
        ("port = [1, 2]", "'port' takes one value, not a list"),
        ("log-prompts = 1", "'log-prompts' is true or false, not 1"),
        ("port = 1979-05-27", "'port' cannot be"),
        ("[default-chat-template-kwargs]\nday = 1979-05-27", "'default-chat-template-kwargs' cannot be"),
        ("[default-chat-template-kwargs]\nx = nan", "'default-chat-template-kwargs' cannot be"),
        ("model = [1]", "'model' cannot be"),
        ('port = "http"', "argument --port: 'http' is not a port"),
        ('log-format = "xml"', "argument --log-format: invalid choice"),
        ("port 1", "not TOML"),
    ],
)
def test_what_is_wrong_is_named(read: Read, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert said in str(caught.value)


def test_it_counts_at_the_command_line(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "toolglot.toml"
    path.write_text('api-key = ""\n')
    assert "--api-key is empty" in refused("serve", "m", f"--config={path}")
    assert "No such file" in refused("serve", "m", "--config", str(tmp_path / "none"))
