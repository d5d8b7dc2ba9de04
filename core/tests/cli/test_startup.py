"""What ``toolglot serve`` checks and decides before it loads weights."""

from __future__ import annotations

import socket
from argparse import Namespace
from collections.abc import Callable

import pytest

from toolglot import Parser
from toolglot.cli import argument_parser, checks, startup
from toolglot.formats import Calls, Frame, JsonCall, WireFormat, WireFormatParser
from toolglot.requests import StrictLevel
from toolglot.server import ServerConfig

Refused = Callable[..., str]


def arguments(*flags: str) -> Namespace:
    return argument_parser().parse_args(["serve", *flags])


def test_a_port_in_use_is_refused(plugin_file: str, refused: Refused) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        said = refused("serve", "m", "--tool-parser-plugin", plugin_file, "--port", port)

    assert f"cannot listen on 127.0.0.1:{port}: Address already in use; try another --port or --host" in said


def test_a_host_that_is_none_is_refused(refused: Refused) -> None:
    assert "cannot listen on 300.0.0.1:8000" in refused("serve", "m", "--host", "300.0.0.1")


@pytest.mark.parametrize("path", ["no/such/file", "missing.jinja"])
def test_a_template_file_that_is_not_there_is_refused(path: str, refused: Refused) -> None:
    assert f"--chat-template {path}: no such file" in refused("serve", "m", "--chat-template", path)


@pytest.mark.parametrize("folder", ["", "examples/", "/no/such/folder/"])
def test_a_template_file_that_is_not_there_may_mean_a_shipped_one(folder: str) -> None:
    checks.require_template(f"{folder}tool_chat_template_hermes.jinja")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, refused: Refused) -> None:
    monkeypatch.setitem(checks.EXTRAS, "grammar", ("a_package_that_nobody_has",))

    assert "pip install 'toolglot[grammar]'" in refused("serve")


def test_a_model_that_is_nowhere_is_refused(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "require_port", lambda host, port: None)

    said = refused("serve", "./no-such-model.gguf")

    assert "no-such-model.gguf" in said


def test_config_and_weights_are_read_in_one_format(refused: Refused) -> None:
    assert startup.layout(arguments()) == "auto"
    assert startup.layout(arguments("--config-format", "mistral")) == "mistral"
    assert startup.layout(arguments("--load-format", "mistral", "--config-format", "mistral")) == "mistral"
    assert "--config-format and --load-format differ" in refused(
        "serve", "m", "--load-format", "hf", "--config-format", "mistral"
    )


def test_the_demo_model_brings_its_settings() -> None:
    chosen = arguments()
    startup.preset(chosen)

    assert chosen.enable_auto_tool_choice
    assert chosen.tool_call_parser == "hermes"
    assert chosen.chat_template == "tool_chat_template_hermes"


def test_flags_win_over_the_settings_of_the_demo_model() -> None:
    chosen = arguments("--tool-call-parser", "other")
    startup.preset(chosen)

    assert chosen.enable_auto_tool_choice
    assert chosen.tool_call_parser == "other"
    assert chosen.chat_template is None  # the setting asks for calls of another parser


@pytest.mark.parametrize("parser", ["hermes", "auto"])
def test_the_template_of_the_demo_model_comes_with_its_parser(parser: str) -> None:
    chosen = arguments("--tool-call-parser", parser)
    startup.preset(chosen)

    assert (chosen.tool_call_parser, chosen.chat_template) == (parser, "tool_chat_template_hermes")


def test_another_model_brings_no_settings() -> None:
    chosen = arguments("model")
    startup.preset(chosen)

    assert not chosen.enable_auto_tool_choice
    assert chosen.tool_call_parser is None


def test_without_flags_the_server_has_its_defaults() -> None:
    assert startup.server_config(arguments()) == ServerConfig()


def test_every_setting_of_the_server_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = arguments(
        *("--served-model-name", "a", "b"),
        *("--host", "0.0.0.0", "--port", "9", "--api-key", "k", "--allowed-origins", "*", "--log-prompts"),
        "--isolate-prefix-cache",
        *("--max-body-bytes", "5", "--max-messages", "5", "--max-tools", "5", "--max-schema-bytes", "5"),
        *("--max-choices", "5", "--max-tokens-limit", "5", "--max-requests", "5"),
        *("--max-stored-responses", "0", "--max-stored-bytes", "5"),
        *("--client-timeout", "5", "--shutdown-timeout", "5"),
        *("--enable-auto-tool-choice", "--exclude-tools-when-tool-choice-none", "--no-extensions"),
        *("--default-chat-template-kwargs", '{"x": 1}', "--repair", "off", "--unknown-tools", "content"),
        *("--incomplete-calls", "drop", "--tool-strict-level", "function", "--tool-any-property-order"),
    )
    monkeypatch.setenv("TOOLGLOT_ENFORCE_STRICT_TOOL_CALLING", "off")

    config, default = startup.server_config(chosen), ServerConfig()
    changed = {name for name in ServerConfig.__struct_fields__ if getattr(config, name) != getattr(default, name)}
    assert changed == set(ServerConfig.__struct_fields__)


def test_a_model_that_was_taken_for_a_name_is_noticed(refused: Refused) -> None:
    assert "write the model before the flags" in refused("serve", "--served-model-name", "mine", "model.gguf")


@pytest.mark.parametrize("name", checks.ENFORCEMENT)
@pytest.mark.parametrize(
    ("value", "wanted"), [("0", False), ("False", False), ("off", False), ("1", True), ("yes", True)]
)
def test_enforcement_can_be_switched_off_by_the_environment(name: str, value: str, wanted: bool) -> None:
    assert checks.enforcement({name: value}) is wanted


def test_enforcement_is_on_and_our_own_variable_wins() -> None:
    ours, theirs = checks.ENFORCEMENT

    assert checks.enforcement({})
    assert checks.enforcement({ours: "true", theirs: "false"})
    assert not checks.enforcement({ours: "false", theirs: "true"})


@pytest.mark.parametrize("value", ["", "maybe", "2"])
def test_a_word_that_is_neither_yes_nor_no_is_refused(
    value: str, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.setenv("VLLM_ENFORCE_STRICT_TOOL_CALLING", value)

    said = refused("serve", "m")

    assert (
        f"VLLM_ENFORCE_STRICT_TOOL_CALLING={value!r}: use one of 0, false, no, off, or one of 1, true, yes, on" in said
    )


def test_a_strict_level_needs_a_parser(refused: Refused) -> None:
    assert "--tool-strict-level needs --tool-call-parser" in refused("serve", "m", "--tool-strict-level", "function")
    assert "invalid choice" in refused("serve", "m", "--tool-strict-level", "high")


def form(level: StrictLevel | None) -> Parser:
    calls = Calls(JsonCall(), Frame(("<call>",), ("</call>",)))
    return Parser("mine", WireFormatParser(WireFormat((calls,), strict_level=level)))


def test_the_log_says_which_strict_level_holds_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert startup.describe_level("function", form("parameter")) == "function, as asked"
    assert startup.describe_level(None, form("parameter")) == "parameter, as mine recommends"
    assert startup.describe_level(None, form(None)) == "auto, the default"
    monkeypatch.setenv("VLLM_ENFORCE_STRICT_TOOL_CALLING", "0")
    assert startup.describe_level("parameter", form(None)).startswith("none, as VLLM_ENFORCE_STRICT_TOOL_CALLING=0")


def test_the_help_says_that_the_parser_may_be_found(
    toolglot: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        toolglot("serve", "--help")

    assert "auto: the one that fits the model" in " ".join(capsys.readouterr().out.split())
