"""The parser that a model needs is found by its chat template, and by its architecture where that does not decide."""

from __future__ import annotations

import json
from argparse import Namespace
from importlib.resources import files

import pytest

from toolglot.checkpoints import evidence
from toolglot.cli import main, startup
from toolglot.detection import Evidence, UndecidedError, detect

TEMPLATES = {
    "apertus": "apertus",
    "deepseekr1": "deepseek_r1",
    "deepseekv31": "deepseek_v31",
    "functiongemma": "functiongemma",
    "gemma4": "gemma4",
    "granite": "granite",
    "granite_20b_fc": "granite-20b-fc",
    "hermes": "hermes",
    "internlm2_tool": "internlm",
    "mistral": "mistral",
    "olmo3": "olmo3",
    "qwen3coder": "qwen3_xml",
}


def template(name):
    return (files("toolglot_templates") / f"tool_chat_template_{name}.jinja").read_text()


@pytest.mark.parametrize(("name", "parser"), TEMPLATES.items(), ids=TEMPLATES)
def test_a_chat_template_decides(name, parser):
    found = detect(Evidence(template(name), frozenset({"[TOOL_CALLS]"})))

    assert found.name == parser
    assert all(marker in template(name) for marker in found.markers)
    assert f"the model's chat template has {found.markers[0]}" in found.reason


@pytest.mark.parametrize(
    ("name", "architecture", "parser"),
    [
        ("qwen3coder", "Qwen3MoeForCausalLM", "qwen3_xml"),
        ("qwen3coder", "MiMoV2FlashForCausalLM", "mimo"),
        ("qwen3coder", "Step3p5ForCausalLM", "step5"),
        ("hermes", "Qwen3ForCausalLM", "hermes"),
        ("hermes", "LlamaForCausalLM", "hermes"),
        ("hermes", "GraniteMoeHybridForCausalLM", "granite4"),
        ("hermes", "Ernie4_5_MoeForCausalLM", "ernie45"),
    ],
)
def test_an_architecture_decides_where_markers_do_not(name, architecture, parser):
    found = detect(Evidence(template(name), architectures=(architecture,)))

    assert found.name == parser


def test_the_vocabulary_decides_where_the_template_has_no_markers():
    found = detect(Evidence(template("llama3.1_json"), frozenset({"<|python_tag|>"}), ("LlamaForCausalLM",)))

    assert (found.name, found.reason) == ("llama3_json", "the model's vocabulary has <|python_tag|>")


def test_an_architecture_that_many_models_share_says_nothing():
    with pytest.raises(UndecidedError, match="or `generic`, which suits every model"):
        detect(Evidence("<|im_start|>", architectures=("LlamaForCausalLM",)))


def test_several_that_fit_are_listed():
    with pytest.raises(UndecidedError) as undecided:
        detect(Evidence(template("llama4_json"), architectures=("Llama4ForConditionalGeneration",)))
    assert [one.name for one in undecided.value.candidates] == ["llama3_json", "llama4_pythonic"]
    assert "choose one with --tool-call-parser" in str(undecided.value)


def test_a_template_without_tools_fits_none():
    with pytest.raises(UndecidedError, match="no installed parser fits this model"):
        detect(Evidence("{{ messages[0].content }}", frozenset({"<|im_end|>"}), ("SomethingForCausalLM",)))


@pytest.fixture
def checkpoint(tmp_path):
    """A checkpoint's files without weights, as a hub has them."""
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}))
    (tmp_path / "tokenizer.json").write_text(json.dumps({"added_tokens": [{"id": 1, "content": "<tool_call>"}]}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template("hermes")}))
    return tmp_path


def test_evidence_is_read_from_a_checkpoint(checkpoint):
    found = evidence(str(checkpoint))

    assert found.template == template("hermes")
    assert found.tokens == {"<tool_call>"}
    assert found.architectures == ("Qwen3ForCausalLM", "qwen3")


def test_named_templates_and_template_files_are_read(checkpoint):
    named = [{"name": "default", "template": "one"}, {"name": "tool_use", "template": "two"}]
    (checkpoint / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    (checkpoint / "chat_template.jinja").write_text("three")

    assert evidence(str(checkpoint)).template == "one\ntwo\nthree"


def test_the_command_line_says_which_and_why(checkpoint, capsys):
    assert main(["parsers", "--detect", str(checkpoint)]) == 0
    assert capsys.readouterr().out.startswith("hermes: the model's chat template has <tool_call>, </tool_call>")


def test_a_broken_file_is_named(checkpoint, capsys):
    (checkpoint / "config.json").write_text("{")

    assert main(["parsers", "--detect", str(checkpoint)]) == 2
    assert "config.json is no JSON" in capsys.readouterr().err


@pytest.mark.parametrize(("chosen", "parser"), [(None, "hermes"), ("tool_chat_template_olmo3", "olmo3")])
def test_serve_takes_auto_for_the_parser_of_the_template_that_it_uses(chosen, parser, checkpoint, caplog):
    arguments = Namespace(tool_call_parser="auto", chat_template=chosen)

    with caplog.at_level("INFO", "toolglot"):
        startup.detect_parser(arguments, checkpoint, tokenizer=None)

    assert arguments.tool_call_parser == parser
    assert f"--tool-call-parser auto: {parser}, since the model's chat template has" in caplog.text


def test_serve_leaves_a_parser_that_is_named(checkpoint):
    arguments = Namespace(tool_call_parser="pythonic", chat_template=None)

    startup.detect_parser(arguments, checkpoint, tokenizer=None)

    assert arguments.tool_call_parser == "pythonic"
