"""``toolglot check``: one line per law, and an exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from toolglot.cli import check, check_target, main

Refused = Callable[..., str]
Checked = Callable[..., tuple[int, dict[str, str]]]
CASE = {
    "id": "one",
    "source": "made",
    "origin": "template",
    "tools": [{"type": "function", "function": {"name": "f"}}],
    "raw_output": '<action>{"name": "f", "arguments": {}}</action>',
    "expected": {"tool_calls": [{"name": "f", "arguments": {}}]},
}


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Checked:
    """Checks a target with few examples; returns the exit code, and what the line of each law says."""
    monkeypatch.setenv("TOOLGLOT_EXAMPLES", "2")

    def run(*argv: str) -> tuple[int, dict[str, str]]:
        code = main(["check", *argv])
        _, *lines = capsys.readouterr().out.splitlines()
        return code, {line.split()[0]: line[21:].strip() for line in lines}

    return run


@pytest.fixture
def cases(tmp_path: Path) -> str:
    """The path of a folder with one case, of the format of ``plugin_file``."""
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "one.jsonl").write_text(json.dumps(CASE))
    return str(folder)


@pytest.fixture
def package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The folder of a package as `new-plugin` writes it."""
    assert main(["new-plugin", "my_format", "--into", str(tmp_path)]) == 0
    capsys.readouterr()
    return tmp_path / "toolglot-my-format"


def test_an_installed_parser_without_cases_is_tested_but_not_anchored(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_target, "_source_folder", lambda name: None)  # as if it were installed from a wheel

    code, said = checked("hermes", "--law", "L0", "--law", "L1", "--law", "L7")

    assert code == 0
    assert said["L0"] == "not run: no cases (--cases DIR)"
    assert said["L1"].startswith("held (3 tests, ")
    assert said["L7"].startswith("held (1 test, ")
    assert list(said) == ["L0", "L1", "L7"]


def test_a_parser_that_is_installed_from_its_source_has_its_own_cases(checked: Checked) -> None:
    code, said = checked("qwen3_json", "--law", "L0", "--law", "L4")

    assert code == 0
    assert said["L0"].startswith("held (")
    assert said["L4"].startswith("held (1 test, ")


def test_a_plugin_file_is_tested_on_cases(checked: Checked, plugin_file: str, cases: str) -> None:
    code, said = checked(plugin_file, "--cases", cases, "--law", "L0", "--law", "truncation")

    assert code == 0
    assert said["L0"].startswith("held (2 tests, ")
    assert said["truncation"].startswith("held (2 tests, ")


def test_a_wrong_marker_fails_the_law_that_anchors_it_and_no_other(
    checked: Checked, plugin_file: str, cases: str
) -> None:
    path = Path(plugin_file)
    path.write_text(path.read_text().replace("<action>", "<acton>"))

    code, said = checked(plugin_file, "--cases", cases, "--law", "L0", "--law", "L4")

    assert code == 1
    assert said["L0"].startswith("FAILED: assert {")
    assert said["L0"].endswith("(test_l0_cases[one])")
    assert said["L4"].startswith("held")


def test_what_is_not_written_as_json_passes_through_as_what_it_means(checked: Checked, plugin_file: str) -> None:
    path = Path(plugin_file)
    path.write_text(path.read_text().replace("JsonCall", "PythonCall"))

    code, said = checked(plugin_file, "--law", "L7")

    assert code == 0
    assert said["L7"].startswith("held")


def test_a_waiver_of_a_package_is_printed_with_its_reason(checked: Checked, package: Path) -> None:
    suite = package / "tests" / "test_conformance.py"
    waiver = '    @pytest.mark.xfail(reason="not yet")\n    def test_l0_markers(self):\n        assert 0\n'
    suite.write_text(suite.read_text().replace("from pathlib", "import pytest\nfrom pathlib") + "\n" + waiver)

    assert checked(str(package), "--law", "L0") == (0, {"L0": "waived: not yet"})


def test_a_package_without_a_suite_is_tested_on_its_cases_once_for_all_names(
    package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (package / "tests" / "test_conformance.py").unlink()
    settings = package / "pyproject.toml"
    entry = 'my_format = "toolglot_my_format:plugin"\n'
    settings.write_text(settings.read_text().replace(entry, entry + entry.replace("my_format =", "other =")))
    case = package / "tests" / "cases" / "made.jsonl"
    case.write_text(case.read_text().replace('"origin": "made"', '"origin": "template"'))

    assert main(["check", str(package), "--law", "L0"]) == 0
    heading, law, alias = capsys.readouterr().out.splitlines()
    assert heading == f"my_format, from {package}"
    assert "held (2 tests, " in law
    assert alias == "other: the same parser as my_format"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ((), "TARGET is missing"),
        (("hermess",), "did you mean hermes?"),
        (("missing.py",), "there is no such file"),
        (("hermes", "--law", "L9"), "--law L9: no such law; one of: L0, "),
        (("hermes", "--cases", "nowhere"), "--cases nowhere: no *.jsonl file there"),
        ((".",), "a package folder has a pyproject.toml"),
    ],
)
def test_a_target_that_cannot_be_checked_is_refused(
    target: tuple[str, ...], said: str, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert said in refused("check", *target)


def test_a_parser_that_declares_no_format_is_refused(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "by_hand.py"
    path.write_text(
        "import toolglot\n\n@toolglot.register_parser('by_hand')\nclass ByHand:\n    @toolglot.hookimpl\n"
        "    def extract_tool_calls(self, output, request): ...\n"
    )

    assert "'by_hand' declares no WireFormat" in refused("check", str(path))


def test_suites_that_do_not_import_are_refused(refused: Refused, package: Path) -> None:
    suite = package / "tests" / "test_conformance.py"
    suite.write_text("import nothing_of_this_name\n" + suite.read_text())

    assert "No module named 'nothing_of_this_name'" in refused("check", str(package))


def test_a_parser_that_does_not_load_is_refused_whatever_suites_there_are(refused: Refused, package: Path) -> None:
    (module,) = package.glob("src/*/__init__.py")
    module.write_text("import nothing_of_this_name\n")

    assert "No module named 'nothing_of_this_name'" in refused("check", str(package))


def test_a_parser_that_needs_a_checkpoint_is_refused_where_no_suite_is_about_what_it_makes(
    refused: Refused, package: Path
) -> None:
    (module,) = package.glob("src/*/__init__.py")
    module.write_text(
        "from toolglot import PluginError\nfrom toolglot.formats import WireFormatParser\n\n"
        "def of_tokenizer(tokenizer):\n    raise PluginError('it needs a tokenizer')\n\n"
        "plugin = WireFormatParser(of_tokenizer)\n"
    )

    assert "it needs a tokenizer" in refused("check", str(package))


def test_without_the_extra_testing_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, refused: Refused) -> None:
    monkeypatch.setattr(check.importlib.util, "find_spec", lambda name: None)

    assert 'pip install "toolglot[testing]"' in refused("check", "hermes")
