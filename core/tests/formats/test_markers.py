"""Finding markers in text that is still arriving."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolglot.formats import Calls, Frame, JsonCall, WireFormat
from toolglot.formats.binding import Binding
from toolglot.formats.markers import MAX_GAP, NO, PARTIAL, Marker, Scan, scan_of


@pytest.mark.parametrize(
    ("spelling", "lead", "parts", "tail"),
    [
        ("<a>", "", (("<a>", ""),), ""),
        ("\n<a>\n\n", "\n", (("<a>", ""),), "\n\n"),
        ("<a>~[", "", (("<a>", ""), (None, ""), ("[", "")), ""),
        ("~<a> b~", "", (("<a>", ""), (None, " "), ("b", "")), ""),
        ("", "", (), ""),
        ("\n", "", (), "\n"),
    ],
)
def test_a_spelling_is_literals_and_gaps(spelling, lead, parts, tail):
    marker = Marker(spelling)

    assert (marker.lead, marker.parts, marker.tail) == (lead, parts, tail)


@pytest.mark.parametrize(
    ("text", "eof", "exact", "end"),
    [
        ("<a>[", False, False, 4),
        ("<a>  \n[x", False, False, 7),
        ("<a>", False, False, PARTIAL),
        ("<a>", True, False, NO),
        ("<", False, False, PARTIAL),
        ("<a> x", False, False, NO),
        ("<a>" + " " * (MAX_GAP + 1) + "[", False, False, NO),
        ("<a> [", False, True, NO),
        ("<a>[", False, True, 4),
    ],
)
def test_matching_a_marker_with_a_gap(text, eof, exact, end):
    assert Marker("<a>~[").match(text, 0, eof=eof, exact=exact) == end


def test_the_longer_of_two_markers_wins():
    scan = scan_of(("[TOOL]", "[TOOL]~["))

    assert scan.at("[TOOL]name", 0, eof=False).action == "[TOOL]"
    assert scan.at("[TOOL] [{", 0, eof=False).action == "[TOOL]~["
    assert scan.at("[TOOL] ", 0, eof=False).end == PARTIAL
    assert scan.at("[TOOL] ", 0, eof=True).action == "[TOOL]"


def test_text_is_certain_up_to_where_a_marker_may_begin():
    scan = scan_of(("<tool_call>",))

    assert scan.find("a<b <tool", 0, eof=False).start == 4
    assert scan.find("a<b <toll", 0, eof=False).start == 9
    assert scan.find("a<b <tool", 0, eof=True).start == 9


def test_an_empty_scan_finds_nothing():
    assert scan_of(("", "\n")).find("text", 0, eof=False) == (4, NO, None)


@pytest.mark.parametrize("markers", [("<a>", "<ab>"), ("<ab>", "a b", "b>x"), ("<a_b>", "a b")])
@given(words=st.lists(st.sampled_from(["<a>", "<ab>", "x", "<", "a", "b", ">", " ", "_"]), max_size=12), data=st.data())
def test_scanning_in_pieces_finds_what_scanning_at_once_finds(markers, words, data):
    text = "".join(words)
    scan: Scan[str] = scan_of(markers)
    found, at, arrived = [], 0, 0
    while True:
        eof = arrived == len(text)
        hit = scan.find(text[:arrived], at, eof=eof)
        at = hit.start
        if hit.action:
            found.append((hit.start, hit.action))
            at = hit.end
        elif eof:
            break
        else:
            arrived = min(len(text), arrived + data.draw(st.integers(1, 4)))

    whole, at = [], 0
    while (hit := scan.find(text, at, eof=True)).action:
        whole.append((hit.start, hit.action))
        at = hit.end
    assert found == whole


def test_marker_tokens_become_units_wherever_marks_say_so_and_nowhere_else():
    form = WireFormat((Calls(JsonCall(), call=Frame(("<a>",), ("</a>",))),))
    binding = Binding(form, {"<a>": 1, "</a>": 2})
    opener, closer = binding.units["<a>"], binding.units["</a>"]

    assert binding.text("<a>x</a><a>", (), ((0, 1), (4, 2))) == f"{opener}x{closer}<a>"
    assert binding.text("<a>x", (), ((1, 1), (0, 2), (9, 1), (0, 7))) == "<a>x", "marks that lie are ignored"
    assert binding.expand(f"{opener}é{closer}") == "<a>é</a>"
    assert binding.text("\udc00", (), ()) == "\N{REPLACEMENT CHARACTER}", "no text can hold a unit"
