"""Discovery: entry points one at a time, plugin files, and what goes wrong with each."""

from __future__ import annotations

import sys
import textwrap

import pytest

import toolglot
from toolglot import plugins
from toolglot.errors import DuplicateParserError, PluginFileError, PluginLoadError, UnknownParserError


@pytest.fixture(autouse=True)
def forget_files(monkeypatch):
    """Plugin files stay loaded for the life of a process; a test must not leave its own behind."""
    monkeypatch.setattr(plugins, "_files", {})


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Put a distribution with parser entry points on the path."""

    def install(name, entries, code="", version="1.0"):
        root = tmp_path / name
        info = root / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = "".join(f"{parser} = {target}\n" for parser, target in entries.items())
        (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{lines}")
        (root / f"{name}_module.py").write_text(textwrap.dedent(code))
        monkeypatch.syspath_prepend(str(root))

    return install


PARSER = """
    import toolglot

    class Shout:
        @toolglot.hookimpl
        def extract_tool_calls(self, output):
            return toolglot.Message(content=output.text.upper())

    plugin = Shout()
"""

FILE = textwrap.dedent(PARSER) + "toolglot.register_parser('shout', plugin)\n"


def test_installed_parsers_are_listed_without_importing_them(distribution):
    distribution("broken", {"broken": "broken_module:plugin"}, "raise RuntimeError('imported')")

    names = toolglot.parser_names()

    assert "broken" in names
    assert "hermes" in names
    assert "broken_module" not in sys.modules


def test_an_entry_point_is_loaded_by_its_name(distribution):
    distribution("shouting", {"shout": "shouting_module:plugin"}, PARSER)

    parser = toolglot.load_parser("shout")

    assert parser.parse("hi").content == "HI"
    assert parser.source == plugins.Installed("shout", "shouting", "1.0")


def test_an_unknown_name_lists_the_installed_ones():
    with pytest.raises(UnknownParserError, match=r"'hermse' \(installed: .*hermes"):
        toolglot.load_parser("hermse")


@pytest.mark.parametrize("code", ["import no_such_module", "raise SystemExit(3)", "def broken(:", "other = 1"])
def test_a_plugin_that_does_not_import_costs_only_itself(distribution, code):
    distribution("sick", {"sick": "sick_module:plugin"}, code, version="2.1")

    with pytest.raises(PluginLoadError, match=r"'sick' of sick 2\.1 does not load: ") as caught:
        toolglot.load_parser("sick")

    assert (caught.value.distribution, caught.value.version) == ("sick", "2.1")
    assert toolglot.load_parser("hermes").parse("fine").content == "fine"


def test_a_misspelt_hook_is_found_when_the_plugin_loads(distribution):
    code = """
        import toolglot

        class Plugin:
            @toolglot.hookimpl
            def extract_tool_call(self, output):
                return None

        plugin = Plugin()
    """
    distribution("typo", {"typo": "typo_module:plugin"}, code)

    with pytest.raises(PluginLoadError, match="extract_tool_call"):
        toolglot.load_parser("typo")


def test_an_object_without_hooks_is_no_plugin(distribution):
    distribution("empty", {"empty": "empty_module:plugin"}, "plugin = object()")

    with pytest.raises(PluginLoadError, match="implements neither"):
        toolglot.load_parser("empty")


def test_two_distributions_that_claim_one_name_are_both_named(distribution):
    distribution("first", {"twice": "first_module:plugin"}, PARSER)
    distribution("second", {"twice": "second_module:plugin"}, PARSER, version="3.0")

    with pytest.raises(DuplicateParserError, match=r"'twice' is claimed by .*(first 1\.0|second 3\.0) and "):
        toolglot.load_parser("twice")

    conflict = next(parser for parser in plugins.installed() if parser.name == "twice").conflict
    assert sorted(conflict) == ["first 1.0", "second 3.0"]
    assert "twice_module" not in sys.modules


def test_a_plugin_file_registers_parsers(tmp_path):
    path = tmp_path / "shout.py"
    path.write_text(FILE)

    assert plugins.load_file(path) == ["shout"]
    assert "shout" in toolglot.parser_names()
    assert toolglot.load_parser("shout").parse("hi").content == "HI"


def test_register_parser_decorates_a_class(tmp_path):
    path = tmp_path / "decorated.py"
    path.write_text(textwrap.dedent(PARSER).replace("class Shout", "@toolglot.register_parser('loud')\nclass Shout"))

    assert plugins.load_file(path) == ["loud"]
    assert toolglot.load_parser("loud").parse("hi").content == "HI"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("x = (", r"it does not import: .* in line 1 of "),
        ("import no_such_module", "it does not import: ModuleNotFoundError"),
        ("x = 1", "it registers no parser; call toolglot.register_parser"),
        ("import toolglot\ntoolglot.register_parser('bad', object())", "parser 'bad': .* implements neither"),
    ],
)
def test_a_bad_plugin_file_says_what_is_wrong_with_it(tmp_path, code, reason):
    path = tmp_path / "bad.py"
    path.write_text(code)

    with pytest.raises(PluginFileError, match=reason):
        plugins.load_file(path)

    assert "bad" not in toolglot.parser_names()


def test_a_missing_plugin_file_is_named(tmp_path):
    with pytest.raises(PluginFileError, match=r"gone\.py: there is no such file"):
        plugins.load_file(tmp_path / "gone.py")


def test_a_file_replaces_an_installed_name_only_when_told(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE.replace("'shout'", "'hermes'"))

    with pytest.raises(DuplicateParserError, match=r"'hermes' is claimed by .*mine\.py and toolglot-hermes"):
        plugins.load_file(path)

    plugins.load_file(path, replace=True)
    assert toolglot.load_parser("hermes").parse("hi").content == "HI"


def test_register_parser_outside_a_plugin_file_is_an_error():
    with pytest.raises(RuntimeError, match="outside a plugin file"):
        toolglot.register_parser("x", object())
