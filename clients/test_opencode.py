"""A coding agent lists a directory and reads a file, over each API: its steps are prepared, its tools are its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clients import opencode, weather
from clients.conftest import DIALECTS
from clients.serving import Served, serving

FISH = "swordfish ☂"
ANSWER = "The fish in notes.txt is on line 2."


@pytest.fixture(scope="module")
def program() -> Path:
    return opencode.opencode(opencode.npm_program())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "notes.txt").write_text(f"The fish:\n{FISH}\n")
    (folder / "other.md").write_text("nothing\n")
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module", params=DIALECTS)
def server(request: pytest.FixtureRequest, project: Path) -> Iterator[Served]:
    """Its replies: a title, and the agent's steps, each chosen by what its tools have found so far."""
    listing = weather.written(request.param, {"name": "read", "arguments": {"filePath": str(project)}})
    reading = weather.written(request.param, {"name": "read", "arguments": {"filePath": str(project / "notes.txt")}})
    outputs: list[dict[str, Any]] = [
        {"match": "You are a title generator", "output": "A fish"},
        {"match": FISH, "output": ANSWER, "chunks": 3},
        {"match": "other.md", "output": f"There it is. {reading}", "chunks": 5},
        {"output": f"<think>First look.</think>I look around. {listing}", "chunks": [1, 4, 2]},
    ]
    with serving(outputs, request.param, "--log-prompts") as served:
        opencode.configure(project, served)
        yield served
        assert "Traceback" not in served.log


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("api", opencode.API_PACKAGES)
def test_it_lists_a_directory_and_reads_a_file(program: Path, project: Path, home: Path, api: str) -> None:
    events = opencode.run(program, api, "Which fish is it?", folder=project, home=home)
    listing, reading = (event["part"] for event in events if event["type"] == "tool_use")
    assert "other.md" in found(listing, project)
    assert FISH in found(reading, project / "notes.txt")
    assert [event["part"]["text"].strip() for event in events if event["type"] == "text"][-1] == ANSWER


def found(part: dict[str, Any], path: Path) -> str:
    """What the tool ``read`` has found at a path."""
    state = part["state"]
    assert (part["tool"], state["status"], state["input"]) == ("read", "completed", {"filePath": str(path)})
    output: str = state["output"]
    return output
