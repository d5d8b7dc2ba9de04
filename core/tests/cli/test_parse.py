"""``toolglot parse`` and ``render``: from a raw output to JSON, and back."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

Toolglot = Callable[..., int]
Parse = Callable[..., str]
Refused = Callable[..., str]
ADD, SUB = (
    '<action>{"name": "add", "arguments": {"a": "é"}}</action>',
    '<action>{"name": "sub", "arguments": {}}</action>',
)
OUTPUT = f"Säure.\r\n{ADD} {SUB}"
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "required": ["b"]}}}]


@pytest.fixture
def parse(toolglot: Toolglot, plugin_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Parse:
    """Runs ``toolglot parse`` with the parser ``actions`` on a file that holds OUTPUT, and returns what it prints."""
    raw = tmp_path / "output.txt"
    raw.write_bytes(OUTPUT.encode())

    def run(*flags: str) -> str:
        chosen = ("--tool-parser-plugin", plugin_file, "--tool-call-parser", "actions")
        assert toolglot("parse", *chosen, *flags, str(raw)) == 0
        return capsys.readouterr().out

    return run


def calls(printed: str) -> list[tuple[str, str, str]]:
    return [(call["name"], call["arguments"], call["outcome"]) for call in json.loads(printed)["tool_calls"]]


def write_tools(folder: Path, tools: Any) -> str:
    path = folder / "tools.json"
    path.write_text(json.dumps(tools))
    return str(path)


def test_the_message_is_printed_with_its_text_as_it_is(parse: Parse) -> None:
    printed = parse()

    assert json.loads(printed)["content"] == "Säure."
    assert '"content": "Säure."' in printed
    assert calls(printed) == [("add", '{"a": "é"}', "ok"), ("sub", "{}", "ok")]


def test_offered_tools_are_checked(parse: Parse, tmp_path: Path) -> None:
    found = calls(parse("--tools", write_tools(tmp_path, TOOLS)))

    assert [outcome for _, _, outcome in found] == ["schema_violation", "unknown_tool"]


def test_no_call_is_read_when_none_may_be_made(parse: Parse) -> None:
    message = json.loads(parse("--tool-choice", "none"))

    assert message["content"] == OUTPUT
    assert message["tool_calls"] == []


def test_a_tool_can_be_named(parse: Parse) -> None:
    assert [name for name, _, _ in calls(parse("--tool-choice", "add"))] == ["add", "sub"]


def test_a_tool_that_is_not_there_cannot_be_named(plugin_file: str, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "output.txt").write_text(OUTPUT)
    flags = ["--tool-parser-plugin", plugin_file, "--tool-call-parser", "actions", str(tmp_path / "output.txt")]

    assert "--tool-choice ad: no such tool; did you mean add?" in refused("parse", *flags, "--tool-choice", "ad")
    tools = ("--tools", write_tools(tmp_path, TOOLS))
    assert "--tool-choice sub: no such tool; there is add" in refused("parse", *flags, *tools, "--tool-choice", "sub")


def test_a_tokenizer_can_be_given(plugin_file: str, tmp_path: Path, refused: Refused) -> None:
    flags = ["--tool-parser-plugin", plugin_file, "--tool-call-parser", "actions"]

    assert "--tokenizer nowhere: no such directory" in refused("parse", *flags, "--tokenizer", "nowhere")


def test_an_output_can_be_cut(parse: Parse, tmp_path: Path) -> None:
    (tmp_path / "output.txt").write_text('<action>{"name": "add", "arguments": {"a": 1')

    assert calls(parse("--finish-reason", "length")) == [("add", '{"a": 1', "truncated")]
    assert calls(parse("--finish-reason", "length", "--incomplete-calls", "drop")) == []


@pytest.mark.parametrize("chunks", ["1", "3", "1000", "random:7"])
def test_chunks_make_no_difference(chunks: str, parse: Parse) -> None:
    def without_ids(printed: str) -> Any:
        message = json.loads(printed)
        for call in message["tool_calls"]:
            del call["id"]
        return message

    assert without_ids(parse("--chunks", chunks)) == without_ids(parse())


def test_events_are_printed_one_a_line(parse: Parse) -> None:
    events = [json.loads(line) for line in parse("--events", "--chunks", "5").splitlines()]

    assert "".join(event["text"] for event in events if event["type"] == "content") == "Säure."
    assert [event["name"] for event in events if event["type"] == "call_start"] == ["add", "sub"]
    assert events[-1]["type"] == "call_end"


def test_standard_input_is_read(
    toolglot: Toolglot, plugin_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(OUTPUT.encode())))

    assert toolglot("parse", "--tool-parser-plugin", plugin_file, "--tool-call-parser", "actions") == 0
    assert len(json.loads(capsys.readouterr().out)["tool_calls"]) == 2


def test_what_is_parsed_can_be_rendered(
    parse: Parse,
    toolglot: Toolglot,
    plugin_file: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    message = tmp_path / "message.json"
    message.write_text(parse())

    chosen = ("--tool-parser-plugin", plugin_file, "--tool-call-parser", "actions")
    assert toolglot("render", *chosen, str(message)) == 0
    assert capsys.readouterr().out == f"{ADD}{SUB}\n"


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ("{}", "a JSON array of calls is wanted"),
        ('[{"name": "add"}]', "call 0 is no object with `name` and `arguments`"),
        ("[", "not JSON"),
    ],
)
def test_calls_to_render_are_checked(
    calls: str, reason: str, plugin_file: str, tmp_path: Path, refused: Refused
) -> None:
    path = tmp_path / "calls.json"
    path.write_text(calls)

    flags = ["--tool-parser-plugin", plugin_file, "--tool-call-parser", "actions"]
    assert reason in refused("render", *flags, str(path))


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        ({}, "a JSON array of tools is wanted, not dict"),
        ([1], "tools[0] is no object"),
        ([*TOOLS, {"type": "function"}], "`function` of `tools[1]` must be an object"),
    ],
)
def test_the_tools_file_is_checked(tools: Any, reason: str, plugin_file: str, tmp_path: Path, refused: Refused) -> None:
    flags = ["--tool-parser-plugin", plugin_file, "--tool-call-parser", "actions"]
    (tmp_path / "output.txt").write_text(OUTPUT)

    said = refused("parse", *flags, "--tools", write_tools(tmp_path, tools), str(tmp_path / "output.txt"))

    assert reason in said
    assert "tools.json" in said


def test_a_file_that_is_not_there_or_not_text_is_named(plugin_file: str, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "binary").write_bytes(b"ok\xff")
    flags = ["--tool-parser-plugin", plugin_file, "--tool-call-parser", "actions"]

    assert "nowhere.txt: No such file" in refused("parse", *flags, "nowhere.txt")
    assert "binary: not UTF-8 at byte 2" in refused("parse", *flags, str(tmp_path / "binary"))


def test_a_reader_that_leaves_early_is_no_error(plugin_file: str, tmp_path: Path) -> None:
    (tmp_path / "output.txt").write_text("x" * 200_000)
    command = [
        sys.executable,
        "-m",
        "toolglot",
        "parse",
        "--tool-parser-plugin",
        plugin_file,
        "--tool-call-parser",
        "actions",
    ]
    command += ["--events", "--chunks", "1", str(tmp_path / "output.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
