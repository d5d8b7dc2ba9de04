from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolglot.events import ArgumentsDelta, CallEnd, CallStart, ContentDelta, ReasoningDelta
from toolglot.server.stops import StopStrings


def run(stops, events):
    strings = StopStrings(stops)
    passed = strings.filter(events)
    if not strings.hit:
        passed += strings.flush()
    return passed, strings.hit


def content(events):
    return "".join(event.text for event in events if isinstance(event, ContentDelta))


def test_text_from_the_stop_string_on_is_dropped():
    passed, hit = run(["END"], [ContentDelta("one END two")])
    assert (content(passed), hit) == ("one ", True)


def test_a_stop_string_is_found_across_deltas_and_its_beginning_is_not_sent():
    strings = StopStrings(["</s>"])
    assert content(strings.filter([ContentDelta("a<")])) == "a"
    assert strings.filter([ContentDelta("/s")]) == []
    assert strings.filter([ContentDelta(">b")]) == []
    assert strings.hit


def test_what_only_began_like_a_stop_string_is_sent_when_it_goes_on_differently():
    strings = StopStrings(["</s>"])
    assert content(strings.filter([ContentDelta("a</")])) == "a"
    assert content(strings.filter([ContentDelta("b>")])) == "</b>"
    assert not strings.hit


def test_events_after_the_stop_string_are_dropped():
    passed, hit = run(["."], [ContentDelta("a."), CallStart(0, "id", "f"), ContentDelta("b")])
    assert (passed, hit) == ([ContentDelta("a")], True)


def test_reasoning_and_arguments_are_never_searched():
    events = [ReasoningDelta("STOP"), CallStart(0, "id", "STOP"), ArgumentsDelta(0, '"STOP"'), CallEnd(0, "ok")]
    assert run(["STOP"], events) == (events, False)


def test_a_call_ends_the_run_of_content_in_which_a_stop_string_may_lie():
    events = [ContentDelta("ST"), CallStart(0, "id", "f"), CallEnd(0, "ok"), ContentDelta("OP")]
    assert run(["STOP"], events) == (events, False)


def test_the_stop_string_that_ends_first_counts_and_of_two_the_longer():
    assert content(run(["bcd", "abcde"], [ContentDelta("xabcdef")])[0]) == "xa"
    assert content(run(["cd", "bcd"], [ContentDelta("abcd")])[0]) == "a"


def test_held_text_keeps_its_flag():
    passed, _ = run(["STOP"], [ContentDelta("<tool_call>ST", unparsed=True)])
    assert passed == [ContentDelta("<tool_call>", True), ContentDelta("ST", True)]


def expected(stops, text):
    """The definition: read on until some stop string is complete; cut before the longest that is."""
    for end in range(1, len(text) + 1):
        ending = [stop for stop in stops if text[:end].endswith(stop)]
        if ending:
            return text[: end - max(map(len, ending))], True
    return text, False


@given(
    stops=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3),
    pieces=st.lists(st.text("abc", max_size=5), max_size=8),
)
def test_chunks_make_no_difference(stops, pieces):
    passed, hit = run(stops, [ContentDelta(piece) for piece in pieces])
    assert (content(passed), hit) == expected(stops, "".join(pieces))
