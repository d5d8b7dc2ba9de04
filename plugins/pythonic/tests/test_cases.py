"""The formats read what their models write, in every split."""

from pathlib import Path

from toolglot.testing.laws.anchored import Anchored

CASES = Path(__file__).parent / "cases"


class TestPythonic(Anchored):
    parser = "pythonic"
    cases = CASES / "pythonic"
