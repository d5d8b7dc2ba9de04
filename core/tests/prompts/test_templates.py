from __future__ import annotations

from pathlib import Path

import pytest

import toolglot_templates
from toolglot.errors import ModelError
from toolglot.prompts import find_template


@pytest.mark.parametrize("suffix", ["", ".jinja"])
@pytest.mark.parametrize("name", toolglot_templates.names())
def test_a_shipped_template_is_found_by_name(name: str, suffix: str, tokenizer, caplog) -> None:
    assert find_template(name + suffix, tokenizer) == toolglot_templates.read(name)
    assert not caplog.text


@pytest.mark.parametrize("name", toolglot_templates.names())
def test_a_path_of_which_nothing_is_there_means_the_shipped_template_of_its_name(name: str, tokenizer, caplog) -> None:
    assert find_template(f"examples/{name}.jinja", tokenizer) == toolglot_templates.read(name)
    assert f"examples/{name}.jinja" in caplog.text


def test_a_file_that_is_there_comes_before_a_shipped_template(tmp_path: Path, tokenizer, caplog) -> None:
    path = tmp_path / "tool_chat_template_hermes.jinja"
    path.write_text("mine", "utf-8")

    assert find_template(str(path), tokenizer) == "mine"
    assert not caplog.text


def test_a_path_is_read(tmp_path: Path, tokenizer) -> None:
    path = tmp_path / "mine.jinja"
    path.write_text("{{ 'é' }}\n", "utf-8")

    assert find_template(str(path), tokenizer) == "{{ 'é' }}\n"


def test_a_tokenizers_own_template_is_found_by_name(make_tokenizer) -> None:
    tokenizer = make_tokenizer(chat_template={"default": "d", "tool_use": "t"})

    assert find_template("tool_use", tokenizer) == "t"


def test_an_unknown_name_lists_what_there_is(make_tokenizer) -> None:
    tokenizer = make_tokenizer(chat_template={"default": "d", "tool_use": "t"})

    with pytest.raises(ModelError, match=r"'nope'.*tool_chat_template_hermes.*default, tool_use"):
        find_template("nope", tokenizer)


@pytest.mark.parametrize("name", ["", ".", "{{ messages }}" * 1000, "a\0b", "no/such.jinja"])
def test_what_is_no_template_is_refused(name: str, make_tokenizer) -> None:
    with pytest.raises(ModelError, match=r"no chat template.*own templates \(none\)"):
        find_template(name, make_tokenizer(chat_template=None))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path, tokenizer) -> None:
    path = tmp_path / "mine.jinja"
    path.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ModelError, match=r"mine\.jinja cannot be read"):
        find_template(str(path), tokenizer)
