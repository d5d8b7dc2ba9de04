from __future__ import annotations

import re
from pathlib import Path

import pytest

import toolglot_templates


def test_every_template_in_the_folder_is_shipped_under_its_name() -> None:
    folder = Path(__file__).parents[1]
    listed = {path.stem: path.read_text("utf-8") for path in folder.glob("*.jinja")}

    assert {name: toolglot_templates.read(name) for name in toolglot_templates.names()} == listed
    assert "tool_chat_template_hermes" in listed


def test_the_page_about_templates_lists_each_with_its_parser() -> None:
    page = (Path(__file__).parents[2] / "docs" / "templates.md").read_text("utf-8")
    rows = re.findall(r"^\| `(tool_chat_template_[^`]+)` \| `([^`]+)` \|", page, re.MULTILINE)

    assert sorted(name for name, _ in rows) == toolglot_templates.names()
    for name, parser in rows:
        assert f"(parser `{parser}`)" in toolglot_templates.read(name)


def test_the_suffix_may_be_given() -> None:
    name = "tool_chat_template_hermes"

    assert toolglot_templates.read(f"{name}.jinja") == toolglot_templates.read(name)


@pytest.mark.parametrize("name", ["nope", "", "__init__.py", "../tool_chat_template_hermes"])
def test_an_unknown_name_is_a_key_error(name: str) -> None:
    with pytest.raises(KeyError):
        toolglot_templates.read(name)
