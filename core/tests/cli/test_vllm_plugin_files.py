"""A plugin file written for vLLM on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

FILES = Path(__file__).parents[1] / "vllm_plugin_files"
OUTPUTS = {
    "tagged_json": 'Säure. <call>{"name": "add", "arguments": {"a": "é"}}</call>',
    "noted_fields": "Säure. <tool_call>add<|note|>a=é</tool_call>",
}
Toolglot = Callable[..., int]


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("chunks", ["1", "3", "100", "random:7"])
def test_toolglot_parse_reads_an_output_with_it(
    name: str, chunks: str, toolglot: Toolglot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "output.txt").write_text(OUTPUTS[name])
    chosen = ("--tool-parser-plugin", str(FILES / f"{name}.py"), "--tool-call-parser", name, "--chunks", chunks)

    assert toolglot("parse", *chosen, str(tmp_path / "output.txt")) == 0

    message = json.loads(capsys.readouterr().out)
    assert message["content"] == "Säure. "
    assert [(call["name"], call["arguments"]) for call in message["tool_calls"]] == [("add", '{"a": "é"}')]


def test_toolglot_serve_says_what_a_file_lacks(refused: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "lacking.py"
    path.write_text("from vllm.tool_parsers.hermes_tool_parser import Hermes2ProToolParser")

    said = refused("serve", "m", "--tool-parser-plugin", str(path), "--tool-call-parser", "x")

    assert f"plugin file {path}: it does not import: " in said
    assert "'vllm.tool_parsers.hermes_tool_parser'" in said
