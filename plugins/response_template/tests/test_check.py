"""``toolglot check`` on a package whose parser needs a checkpoint: its own suites are run."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolglot.cli import main


def test_the_formats_that_it_makes_are_checked(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(Path(__file__).parents[1]), "--law", "L0"]) == 0

    printed = capfd.readouterr().out
    assert "hf: needs a checkpoint; tested are formats that it makes: hf_elements" in printed
    assert "FAILED" not in printed
