"""The demo's own parts: what it asks, what it accepts, and the commands that it prints."""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import ModuleType
from types import SimpleNamespace as Reply

import jsonschema
import pytest

from toolglot.cli import argument_parser

REQUEST = {"model": "m", "messages": [{"role": "user", "content": 'It\'s "cold" in Tromsø'}]}


def test_a_port_that_is_taken_is_not_used(demo: ModuleType) -> None:
    with socket.socket() as taken:
        taken.bind((demo.HOST, 0))
        taken.listen()
        wanted = taken.getsockname()[1]

        assert demo.free_port(wanted) != wanted
    assert demo.free_port(wanted) == wanted


def test_a_server_that_ends_ends_the_wait(demo: ModuleType) -> None:
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]) as server, pytest.raises(SystemExit) as ended:
        demo.wait_until_ready(server, "http://127.0.0.1:9/health")

    assert "exit code 3" in str(ended.value)


def test_the_printed_commands_are_ones_that_a_shell_and_toolglot_take(
    demo: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    demo.print_commands(["serve", "--port", "8001"], "http://127.0.0.1:8001/v1/chat/completions", REQUEST)

    serve, curl = map(shlex.split, capsys.readouterr().out.splitlines()[-2:])
    assert Path(serve[0]).name == "toolglot"
    assert argument_parser().parse_args(serve[1:]).port == 8001
    assert curl[:2] == ["curl", "http://127.0.0.1:8001/v1/chat/completions"]
    assert json.loads(curl[-1]) == REQUEST


@pytest.mark.parametrize("arguments", ['{"location": "Paris"}', '{"location": "Paris", "unit": "kelvin"}'])
def test_a_call_that_does_not_validate_is_a_failure(
    arguments: str, demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = {"properties": {"unit": {"enum": ["celsius"]}}, "required": ["unit"]}
    example = tmp_path / "weather.py"
    example.write_text(f"class call: arguments = {arguments!r}\nstreamed = call.arguments\nparameters = {schema!r}\n")
    monkeypatch.setattr(demo, "WEATHER", example)

    with pytest.raises(demo.jsonschema_rs.ValidationError):
        demo.ask("http://127.0.0.1:9/v1")


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ANSWER = Reply(content="Oslo.", tool_calls=None)


def calls(*arguments: str) -> Reply:
    return Reply(content=None, tool_calls=[Reply(function=Reply(arguments=text)) for text in arguments])


def test_calls_for_the_first_question_and_an_answer_to_the_second_are_right(demo: ModuleType) -> None:
    demo.check_decisions({"parameters": SCHEMA, "replies": [calls('{"city": "Oslo"}'), ANSWER]})


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ([ANSWER, ANSWER], "answered where it should call: 'Oslo.'"),
        ([calls('{"city": "Oslo"}'), calls("{}")], "called where it should answer"),
        ([calls('{"city": "Oslo"}'), Reply(content=None, tool_calls=None)], "called where it should answer: None"),
    ],
)
def test_a_wrong_decision_of_the_model_is_a_failure(replies: list[Reply], said: str, demo: ModuleType) -> None:
    with pytest.raises(SystemExit, match=said):
        demo.check_decisions({"parameters": SCHEMA, "replies": replies})


def test_a_call_of_the_model_s_own_accord_that_does_not_validate_is_a_failure(demo: ModuleType) -> None:
    with pytest.raises(demo.jsonschema_rs.ValidationError):
        demo.check_decisions({"parameters": SCHEMA, "replies": [calls('{"city": "Oslo"}', '{"city": 3}'), ANSWER]})


@pytest.mark.model
def test_the_demo_model_calls_and_answers_as_it_decides(
    demo: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "")

    demo.decide()

    *lines, answer = capsys.readouterr().out.splitlines()
    assert lines == [
        "Question: Get the weather in Oslo.",
        'Function called: get_weather, with {"city": "Oslo"}',
        "Question: What is the capital of Norway?",
    ]
    assert answer.startswith("Answer: ")  # in words of the model's own, which differ by processor
    assert "Oslo" in answer


@pytest.mark.model
def test_the_printed_request_gets_a_valid_call(
    demo: ModuleType, demo_server: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", demo_server)
    example = demo.ask(demo_server)
    demo.print_commands(["serve"], f"{demo_server}/chat/completions", example["request"])
    _, url, _, header, _, body = shlex.split(capsys.readouterr().out.splitlines()[-1])

    name, _, value = header.partition(": ")
    with urllib.request.urlopen(urllib.request.Request(url, body.encode(), {name: value})) as reply:
        call = json.load(reply)["choices"][0]["message"]["tool_calls"][0]["function"]

    assert call["name"] == "get_weather"
    jsonschema.validate(json.loads(call["arguments"]), example["parameters"])
