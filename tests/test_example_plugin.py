"""The example of a plugin file does what the guide says of it, whole and streamed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import toolglot
from toolglot import plugins
from toolglot.cli import main
from toolglot.requests import Request, Tool

OUTPUT = "Sure!\n!get_weather city=Oslo days=3\n! is no call\nAnd:\n!now\n\n!get_weather city=Tr"
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("get_weather", "now")]


@pytest.fixture
def example(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file, which no other test has loaded."""
    monkeypatch.setattr(plugins, "_files", {})
    return root / "examples/line_calls.py"


@pytest.mark.parametrize("size", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_the_example_reads_whole_and_streamed_outputs(size: int, finish: str, example: Path) -> None:
    assert plugins.load_file(example) == ["line_calls"]
    parser = toolglot.load_parser("line_calls")
    if size:
        stream = parser.stream(tools=TOOLS)
        for start in range(0, len(OUTPUT), size):
            stream.feed(OUTPUT[start : start + size])
        stream.finish(finish)
    message = stream.message if size else parser.parse(OUTPUT, tools=TOOLS, finish_reason=finish)

    assert message.content == "Sure!\n! is no call\nAnd:\n\n"
    assert [(call.name, json.loads(call.arguments), call.outcome) for call in message.tool_calls] == [
        ("get_weather", {"city": "Oslo", "days": "3"}, "ok"),
        ("now", {}, "ok"),
        ("get_weather", {"city": "Tr"}, "ok" if finish == "stop" else "truncated"),
    ]


def test_the_example_says_at_once_what_is_certain(example: Path) -> None:
    plugins.load_file(example)
    stream = toolglot.load_parser("line_calls").stream(tools=TOOLS)

    assert stream.feed("Sure") == [toolglot.ContentDelta("Sure")]
    assert stream.feed("!\n!no") == [toolglot.ContentDelta("!\n")]
    assert len(stream.feed("w\n")) == 3


def test_the_example_leaves_answers_without_tools_alone(example: Path) -> None:
    plugins.load_file(example)
    parser = toolglot.load_parser("line_calls")
    stream = parser.stream()
    stream.feed(OUTPUT)
    stream.finish()

    assert parser.parse(OUTPUT).content == stream.message.content == OUTPUT
    assert not parser.adjust(Request(tools=(Tool("now"),))).skip_special_tokens


def test_the_example_is_chosen_by_its_name(example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "output.txt").write_text(OUTPUT)
    chosen = ["--tool-parser-plugin", str(example), "--tool-call-parser", "line_calls"]

    assert main(["parse", *chosen, str(tmp_path / "output.txt")]) == 0
    assert [call["name"] for call in json.loads(capsys.readouterr().out)["tool_calls"]] == [
        "get_weather",
        "now",
        "get_weather",
    ]


def test_the_page_shows_the_example(example: Path, root: Path) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```$", (root / "docs/write-a-plugin.md").read_text(), re.MULTILINE | re.DOTALL
    )

    assert example.read_text() in blocks
