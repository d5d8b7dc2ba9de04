"""``pip install toolglot toolglot-hermes``: the built wheels work alone, without server, engine and torch."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

OUTPUT = 'Sure.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Ōsaka"}}\n</tool_call>'


@pytest.fixture(scope="module")
def installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment with the wheels of core and of the plugin, and what they need."""
    wheels = tmp_path_factory.mktemp("wheels")
    packages = [root / "core", root / "plugins/hermes"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, *packages], check=True)
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, with_pip=True)
    programs = environment / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([programs / "pip", "install", "-q", *wheels.glob("*.whl")], check=True)
    return programs


def output_of(program: Path, *arguments: str, text: str = "") -> str:
    """What a program prints, run outside the repository."""
    command = [program, *arguments]
    ended = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", cwd=program.parent, check=True)
    return ended.stdout


def test_requirements_agree(installed: Path) -> None:
    assert output_of(installed / "pip", "check") == "No broken requirements found.\n"


def test_the_library_imports_no_heavy_package(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = """if True:
        import sys, time
        began = time.perf_counter()
        import toolglot
        print(f"import toolglot: {(time.perf_counter() - began) * 1000:.0f} ms", file=sys.stderr)
        print(toolglot.load_parser("hermes").name)
        print(sorted({"torch", "transformers", "xgrammar", "starlette", "numpy", "pytest"} & sys.modules.keys()))
    """
    ended = subprocess.run(
        [installed / "python", "-c", code], capture_output=True, encoding="utf-8", cwd=installed, check=True
    )

    with capsys.disabled():
        sys.stdout.write(f"\n{ended.stderr}")  # for information: how long a machine takes is no property of the code
    assert ended.stdout == "hermes\n[]\n"


def test_the_parsers_are_listed(installed: Path) -> None:
    found = json.loads(output_of(installed / "toolglot", "parsers", "--json"))

    assert {(entry["distribution"], *entry["conflict"]) for entry in found} == {("toolglot-hermes",)}
    assert {"hermes", "qwen3_json", "qwen25"} <= {entry["name"] for entry in found}


def test_a_raw_output_is_parsed(installed: Path) -> None:
    message = json.loads(output_of(installed / "toolglot", "parse", "--tool-call-parser", "hermes", text=OUTPUT))

    assert message["content"] == "Sure."
    assert [(call["name"], call["arguments"]) for call in message["tool_calls"]] == [
        ("get_weather", '{"city": "Ōsaka"}')
    ]


def test_the_server_says_what_it_needs(installed: Path) -> None:
    ended = subprocess.run(
        [installed / "toolglot", "serve"], capture_output=True, text=True, cwd=installed, check=False
    )

    assert ended.returncode == 2
    assert "pip install 'toolglot[engine,grammar,server]'" in ended.stderr
    assert ended.stderr.count("\n") == 1
