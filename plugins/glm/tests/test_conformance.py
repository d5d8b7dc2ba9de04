"""The formats keep the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite

CASES = Path(__file__).parent / "cases"


class TestGlm45(FormatSuite):
    parser = "glm45"
    cases = CASES / "glm45"


class TestGlm47(FormatSuite):
    parser = "glm47"
    cases = CASES / "glm47"
