"""The kit sees what is broken, and passes what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolglot.plugins import load_file
from toolglot.testing import FormatSuite, load_cases
from toolglot.testing.reading import errors_raised

FOLDER = Path(__file__).parent
load_file(FOLDER / "broken_parsers.py", replace=True)
LAWS = (
    "test_l0_cases",
    "test_l0_markers",
    "test_l1_l2_turns",
    "test_l1_l2_mangled",
    "test_l1_l2_hostile",
    "test_l3_turns",
    "test_l3_mangled",
    "test_l3_untouched",
    "test_l4_round_trip",
    "test_l6_little_is_held_back",
    "test_l6_prose_is_not_held_back",
    "test_l6_arguments_are_not_held_back",
    "test_l6_work_is_linear",
    "test_l6_floods",
    "test_l7_arguments_as_written",
    "test_commit_not_before_the_name",
    "test_commit_with_the_arguments",
    "test_commit_named_calls_survive_a_cut",
    "test_commit_broken_calls_end",
    "test_truncated_cases",
    "test_truncated_turns",
)


def suite(name):
    return type("Suite", (FormatSuite,), {"parser": name, "cases": FOLDER / "cases" / "broken"})()


def holds(law, name):
    arguments = load_cases(FOLDER / "cases" / "broken") if law in ("test_l0_cases", "test_truncated_cases") else ()
    try:
        with errors_raised():
            getattr(suite(name), law)(*arguments)
    except (AssertionError, ExceptionGroup):
        return False
    return True


@pytest.mark.parametrize("law", LAWS)
def test_a_good_parser_passes(law):
    assert holds(law, "broken_good")


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("marker", "test_l0_cases"),
        ("marker", "test_l0_markers"),
        ("forgetful", "test_l0_cases"),
        ("forgetful", "test_l1_l2_turns"),
        ("twopaths", "test_l1_l2_mangled"),
        ("loser", "test_l3_mangled"),
        ("tidy", "test_l4_round_trip"),
        ("tidy", "test_l7_arguments_as_written"),
        ("completer", "test_truncated_cases"),
        ("completer", "test_truncated_turns"),
        ("dropper", "test_commit_with_the_arguments"),
        ("dropper", "test_commit_named_calls_survive_a_cut"),
        ("hoarder", "test_l6_little_is_held_back"),
        ("hoarder", "test_l6_prose_is_not_held_back"),
        ("hoarder", "test_l6_arguments_are_not_held_back"),
        ("rereader", "test_l6_work_is_linear"),
        ("rescanner", "test_l6_floods"),
        ("raiser", "test_l1_l2_hostile"),
    ],
)
def test_a_broken_parser_fails(name, law):
    assert not holds(law, f"broken_{name}")


def test_a_law_cannot_be_dropped_quietly():
    with pytest.raises(TypeError, match="test_l3_turns drops a law"):
        type("Suite", (FormatSuite,), {"test_l3_turns": None})


def test_a_law_can_be_excused_with_a_reason():
    @pytest.mark.xfail(reason="the format cannot say this")
    def law(self):
        raise AssertionError

    suite = type("Suite", (FormatSuite,), {"test_l3_turns": law})

    assert suite.test_l3_turns is law


def test_a_plugin_may_add_tests_of_its_own():
    suite = type("Suite", (FormatSuite,), {"test_something_else": lambda self: None})

    assert issubclass(suite, FormatSuite)
