"""The formats keep the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestQwen3Coder(FormatSuite):
    parser = "qwen3_coder"
    cases = CASES / "qwen3_coder"


class TestQwen3Xml(FormatSuite):
    parser = "qwen3_xml"
    cases = CASES / "qwen3_xml"
