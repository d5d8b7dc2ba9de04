"""The conformance kit: the laws that every wire format keeps, as a pytest class. Needs the extra ``[testing]``.

A plugin's test module is four lines::

    from pathlib import Path
    from toolglot.testing import FormatSuite

    class TestHermes(FormatSuite):
        parser = "hermes"
        cases = Path(__file__).parent / "cases"

``TOOLGLOT_EXAMPLES`` sets how many random examples each law tries: 100, or more or less in proportion. Up to 100 they
are the same in every run; above it each run tries others, and all floods of law L6 instead of a quarter.
Below 100, hostile texts are cut in two at a sample of places instead of at all.
"""

import pytest

pytest.register_assert_rewrite("toolglot.testing.checks", "toolglot.testing.laws", "toolglot.testing.reading")

from toolglot.testing.cases import Case, Expected, ExpectedCall, load_cases  # noqa: E402  # after the rewrite is set up
from toolglot.testing.suite import FormatSuite  # noqa: E402  # as above

__all__ = ["Case", "Expected", "ExpectedCall", "FormatSuite", "load_cases"]
