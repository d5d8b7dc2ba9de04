"""Formats made from descriptions keep the laws of every format."""

from pathlib import Path

import pytest

from toolglot import plugins
from toolglot.testing import FormatSuite

HERE = Path(__file__).parent


@pytest.fixture(scope="module", autouse=True)
def _registered():
    names = plugins.load_file(HERE / "descriptions.py", replace=True)
    yield
    for name in names:  # other tests look at all parsers that there are
        del plugins._files[name]


class TestJson(FormatSuite):
    parser = "hf_json"
    cases = HERE / "cases" / "json"
    unchecked = frozenset(("<|im_end|>",))  # a token that ends the output


class TestList(FormatSuite):
    parser = "hf_list"
    cases = HERE / "cases" / "list"


class TestMap(FormatSuite):
    parser = "hf_map"
    cases = HERE / "cases" / "map"
    unchecked = frozenset(("<turn|>", "<|tool_response>", "<eos>"))  # as above


class TestElements(FormatSuite):
    parser = "hf_elements"
    cases = HERE / "cases" / "elements"
    unchecked = frozenset(("<think>",))  # the prompt writes it


class TestPython(FormatSuite):
    parser = "hf_python"
    cases = HERE / "cases" / "python"
    unchecked = frozenset(("<|im_end|>",))  # as above
