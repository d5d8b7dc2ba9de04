"""The documentation says what the code does: examples run, and flags, hooks and outcomes are all there and all real."""

from __future__ import annotations

import inspect
import json
import re
import runpy
import shlex
import tomllib
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, get_args

import pytest

import toolglot_templates
from toolglot import hookspecs, plugins
from toolglot.cli import COMMANDS, argument_parser, main
from toolglot.events import Outcome, Repair

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(
    r"^(?P<kind>[^\n]*)\n```python\n(?P<code>.*?)^```$(?:\n\n```output\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
NEEDS_SERVER, PLUGIN_FILE = "<!-- needs the demo server -->", "<!-- a plugin file -->"
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


class Example(NamedTuple):
    """A Python block of a page, the comment before it, and the output that the page promises for it."""

    page: str
    line: int
    code: str
    output: str | None
    kind: str


def examples(page: Path) -> list[Example]:
    text = page.read_text()
    return [
        Example(page.name, text.count("\n", 0, match.start("code")), match["code"], match["output"], match["kind"])
        for match in EXAMPLE.finditer(text)
    ]


def of_kind(kind: str) -> list[Example]:
    return [example for page in PAGES for example in examples(page) if example.kind == kind]


def name(example: Example) -> str:
    return f"{example.page}:{example.line}"


def run(example: Example) -> None:
    code = compile("\n" * example.line + example.code, example.page, "exec")
    exec(code, {"__name__": "__main__"})


@pytest.mark.parametrize("example", of_kind(""), ids=name)
def test_an_example_prints_what_the_page_says(example: Example, capsys: pytest.CaptureFixture[str]) -> None:
    run(example)

    assert example.output is not None, "an example shows its output"
    assert capsys.readouterr().out == example.output


@pytest.mark.model
@pytest.mark.parametrize("example", of_kind(NEEDS_SERVER), ids=name)
def test_an_example_with_a_server_prints_what_the_page_says(
    example: Example, demo_server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", demo_server)

    run(example)

    assert capsys.readouterr().out == example.output


@pytest.mark.parametrize("example", of_kind(PLUGIN_FILE), ids=name)
def test_a_plugin_file_on_a_page_can_be_loaded(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "_files", {})
    text = (ROOT / "docs" / example.page).read_text()
    outputs = (block for block in BLOCK.finditer(text) if block[1] == "output")
    shown = next(block for block in outputs if block.start() > text.index(example.code))
    written, command = re.findall(r"^    \$ (.*)$", text[: shown.start()], re.MULTILINE)[-2:]
    Path("actions.py").write_text(example.code)
    Path("output.txt").write_text(shlex.split(written)[1] + "\n")

    assert main(shlex.split(command)[1:]) == 0
    assert re.sub(r"call_\w{24}", "call_…", capsys.readouterr().out) == shown[2]


def test_the_readme_shows_the_example_that_the_demo_runs() -> None:
    codes = [example.code for example in examples(ROOT / "README.md")]

    assert codes == [(ROOT / "examples/weather.py").read_text()]


def test_every_hook_is_documented_with_its_arguments() -> None:
    headings = re.findall(r"^## `(\w+\(.*\))`$", (ROOT / "docs/hooks.md").read_text(), re.MULTILINE)

    assert headings == [
        f"{name}({', '.join(inspect.signature(hook).parameters)})"
        for name, hook in vars(hookspecs).items()
        if hasattr(hook, f"{hookspecs.PROJECT}_spec")
    ]


def word_of(command: ModuleType) -> str:
    """The command as it is written on the command line."""
    return command.__name__.rpartition(".")[2].replace("_", "-")


def flags(command: ModuleType) -> dict[str, object]:
    """The flags of a command, with their defaults."""
    parser = argument_parser().parse_known_args([word_of(command)])[0].parser
    actions = parser._option_string_actions
    return {flag: action.default for flag, action in actions.items() if flag not in ("-h", "--help")}


def section(command: ModuleType) -> str:
    """What docs/cli.md says about a command."""
    sections = re.split(r"^## `toolglot ", (ROOT / "docs/cli.md").read_text(), flags=re.MULTILINE)
    return next(text for text in sections if re.match(rf"{word_of(command)}\b", text))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_the_flags_of_a_command_are_documented_and_no_others(command: ModuleType) -> None:
    named = set(re.findall(r"`(--[\w-]+)", section(command)))

    assert set(flags(command)) <= named
    assert named - set(flags(command)) <= {"--enable-auto-tool-choice", "--help"}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_defaults_are_documented(command: ModuleType) -> None:
    text = section(command)
    for flag, default in flags(command).items():
        if isinstance(default, str | int) and not isinstance(default, bool):
            row = next(line for line in text.splitlines() if line.startswith(f"| `{flag}"))
            assert f"| `{default}` |" in row


def command_lines() -> list[str]:
    found = [
        m
        for page in PAGES
        for m in re.findall(r"^(?:    \$ |)(?:.* \| )?(toolglot \w.*)$", page.read_text(), re.MULTILINE)
    ]
    return [line for line in found if line.split()[1] in {word_of(command) for command in COMMANDS}]


@pytest.mark.parametrize("line", command_lines())
def test_a_command_line_on_a_page_is_one_that_toolglot_takes(line: str) -> None:
    _, unknown = argument_parser().parse_known_args(shlex.split(line, comments=True)[1:])

    assert unknown == []


@pytest.mark.parametrize("word", [*get_args(Outcome), *get_args(Repair)])
def test_every_outcome_and_repair_is_documented(word: str) -> None:
    assert f"`{word}`" in (ROOT / "docs/server.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_page_of_families_is_made_from_the_parsers() -> None:
    made = runpy.run_path(str(ROOT / "docs/families.py"))["page"]()

    assert made == (ROOT / "docs/families.md").read_text(), "bring it up to date: python docs/families.py"


@pytest.mark.parametrize(
    "plugin", sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml")), ids=lambda path: path.name
)
def test_the_notes_of_a_family_name_each_template_whose_renders_it_keeps(plugin: Path) -> None:
    notes = (plugin / "NOTES.md").read_text()

    for path in plugin.glob("tests/cases/**/templates.jsonl"):
        for line in path.read_text().splitlines():
            assert re.split(r" \(|, ", json.loads(line)["source"])[0] in notes


@pytest.mark.parametrize("template", toolglot_templates.names())
def test_each_shipped_template_is_compared_in_some_family_s_notes(template: str) -> None:
    notes = "".join(path.read_text() for path in ROOT.glob("plugins/*/NOTES.md"))

    assert f"### `{template}` and " in notes


def test_every_family_is_in_the_package_of_all() -> None:
    files = sorted(ROOT.glob("plugins/*/pyproject.toml"))
    names = [tomllib.loads(path.read_text())["project"]["name"] for path in files]
    wanted = tomllib.loads((ROOT / "all/pyproject.toml").read_text())["project"]["dependencies"]

    assert wanted == [f"{name}>=0.1" for name in names]


def test_the_entry_points_on_the_page_are_those_of_the_plugin() -> None:
    blocks = BLOCK.findall((ROOT / "docs/discovery.md").read_text())
    shown = [text for language, text in blocks if language == "toml"]

    assert shown
    assert all(text in (ROOT / "plugins/hermes/pyproject.toml").read_text() for text in shown)
