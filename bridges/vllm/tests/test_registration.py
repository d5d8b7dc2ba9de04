"""What is registered, and what is said where vLLM is of another version: with a stand-in for it."""

from __future__ import annotations

import importlib
import logging
import sys
from typing import ClassVar

import pytest
from bridges.vllm.tests import stand_in

from toolglot import PluginLoadError, UnknownParserError, parser_names


@pytest.fixture
def said(caplog):
    """The warnings and errors, as they are logged."""
    caplog.set_level(logging.WARNING, "vllm.toolglot")
    return lambda: [record.getMessage() for record in caplog.records]


@pytest.fixture
def registered(monkeypatch):
    """Registers with a stand-in, and returns the parsers of each manager, and what ``register`` returned."""

    def register(*names, replace=None, **how):
        if replace:
            monkeypatch.setenv("TOOLGLOT_VLLM_REPLACE", replace)
        else:
            monkeypatch.delenv("TOOLGLOT_VLLM_REPLACE", raising=False)
        modules = stand_in.install(monkeypatch, **how)
        found = importlib.import_module("toolglot_vllm").register(*names)
        tools = next(one["ToolParserManager"] for one in modules.values() if "ToolParserManager" in one)
        return tools, modules["vllm.reasoning"]["ReasoningParserManager"], found

    yield register
    for name in [one for one in sys.modules if one.partition(".")[0] == "toolglot_vllm"]:
        del sys.modules[name]  # it is bound to the stand-in


def test_every_parser_is_registered_with_the_prefix(registered, said):
    tools, reasoning, found = registered()

    assert found == [f"toolglot_{name}" for name in parser_names()]
    assert tools.lazy_parsers["toolglot_hermes"] == ("toolglot_vllm.tool_parser", "hermes")
    assert reasoning.lazy_parsers["toolglot_hermes"] == ("toolglot_vllm.reasoning_parser", "hermes")
    assert tools.lazy_parsers["hermes"] == ("theirs", "Hermes")
    assert said() == []


def test_no_parser_is_imported(registered):
    for name in [one for one in sys.modules if one.startswith("toolglot_hermes")]:
        del sys.modules[name]

    registered()

    assert "toolglot_hermes" not in sys.modules


@pytest.mark.parametrize("setting", ["hermes", "qwen, hermes", "all"])
def test_the_plain_name_replaces_vllms_where_it_is_told_to(registered, setting):
    tools, reasoning, found = registered(replace=setting)

    assert tools.lazy_parsers["hermes"] == ("toolglot_vllm.tool_parser", "hermes")
    assert reasoning.lazy_parsers["hermes"] == ("toolglot_vllm.reasoning_parser", "hermes")
    assert "hermes" not in tools.tool_parsers  # the class that was loaded
    assert ("xlam" in found) == (setting == "all")
    assert "hf" not in found


def test_some_parsers(registered):
    tools, _, found = registered(["hermes"])

    assert found == ["toolglot_hermes"]
    assert "toolglot_xlam" not in tools.lazy_parsers


def test_a_parser_that_is_not_installed(registered):
    with pytest.raises(UnknownParserError, match="nonesuch"):
        registered(["nonesuch"])


def test_registering_twice_changes_nothing(registered):
    found = registered()[2]
    before = sys.modules["vllm.parser"].ParserManager.get_parser

    assert importlib.import_module("toolglot_vllm").register() == found
    assert sys.modules["vllm.parser"].ParserManager.get_parser is before


def test_classes_are_made_by_the_parsers_name(registered):
    registered()
    module, name = importlib.import_module("toolglot_vllm.tool_parser"), "hermes"

    assert issubclass(getattr(module, name), module.ToolglotToolParser)
    assert getattr(module, name) is getattr(module, name)
    with pytest.raises(AttributeError):
        module.__path__  # noqa: B018


class Tokenizer:
    added_tokens_decoder: ClassVar = {}


def test_a_parser_that_cannot_be_loaded_says_why(registered, monkeypatch):
    registered()
    monkeypatch.setitem(sys.modules, "toolglot_xlam", None)

    with pytest.raises(PluginLoadError, match="toolglot-xlam"):
        importlib.import_module("toolglot_vllm.tool_parser").xlam(Tokenizer())


OLD_PROTOCOL = ("vllm.entrypoints.generate.base.protocol", "vllm.entrypoints.openai.protocol")
OLD_TOOLS = ("vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers")


def test_names_are_found_where_older_versions_have_them(registered, said):
    tools, _, _ = registered(moved=[OLD_TOOLS, OLD_PROTOCOL])

    assert "toolglot_hermes" in tools.lazy_parsers
    assert said() == []


def test_a_version_without_unified_parsers(registered, said):
    registered(without=["vllm.parser", "vllm.parser.abstract_parser"])

    assert said() == [
        "vLLM 0.32.0 is not as 0.32 is: reasoning and calls of one output are read one after the other, and not as one"
    ]


@pytest.mark.parametrize(
    ("attribute", "consequence"),
    [
        (
            "engine_based_streaming",
            "it does not tell parsers that a stream ends: what they then still hold back is lost",
        ),
        ("get_structural_tag", "it asks parsers for no structural tag: calls are read, and not constrained"),
    ],
)
def test_a_version_whose_parsers_are_asked_less(registered, said, monkeypatch, attribute, consequence):
    monkeypatch.delattr(stand_in.ToolParser, attribute)
    registered()

    assert said() == [f"vLLM 0.32.0 is not as 0.32 is: {consequence}"]


def test_a_version_without_what_is_needed(registered, said):
    tools, _, found = registered(without=["vllm.reasoning:ReasoningParser"])

    assert found == []
    assert "toolglot_hermes" not in tools.lazy_parsers
    (line,) = said()
    assert line.startswith(
        "toolglot's parsers are not registered, since this vLLM is not as 0.32 is: it has no ReasoningParser (module"
    )
