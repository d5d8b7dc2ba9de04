"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestMuseGlimmer(FormatSuite):
    parser = "muse_glimmer"
    cases = Path(__file__).parent / "cases" / "muse_glimmer"
    unchecked = frozenset(("<|eot|>", "to=commentary<|message|>"))  # the template writes the first behind the turn
