"""What several laws check of one output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from msgspec.structs import replace

from toolglot.events import Event, Message
from toolglot.testing import accounting, chunking, reading
from toolglot.testing.markers import Markers
from toolglot.testing.subject import Sample
from toolglot.testing.writer import SENTINELS


def whole(sample: Sample) -> Message:
    """The output read as a whole."""
    return sample.parser.read(sample.output, sample.request)


def events(sample: Sample, places: Sequence[int]) -> list[Event]:
    """The output read in pieces, as events that are the same for every chunking."""
    return reading.merged(_raw_events(sample, places))


def _raw_events(sample: Sample, places: Sequence[int]) -> list[Event]:
    deltas = chunking.deltas(sample.output, places)
    return reading.stream(sample.parser, sample.request, deltas, sample.output.finish)


def message(sample: Sample, places: Sequence[int]) -> Message:
    """The output read in pieces."""
    return reading.added_up(events(sample, places))


def cut(sample: Sample, end: int) -> Sample:
    """The first ``end`` characters of a text, where a limit ended the output."""
    return replace(sample, output=replace(sample.output, text=sample.output.text[:end], finish="length"))


def same_at_every_chunking(sample: Sample, label: str = "", *, most: int = chunking.EVERYWHERE) -> None:
    """The whole output, and the ways to cut it, read the same. Up to the length ``most`` it is cut everywhere."""
    want = events(sample, ())
    assert reading.without_ids(whole(sample)) == reading.without_ids(reading.added_up(want)), (
        f"{label}: whole and stream differ for {sample.output.text!r}"
    )
    random = Random(len(sample.cuts))  # noqa: S311  # nothing secret
    for places in chunking.every(sample.cuts, random, most):
        got = events(sample, places)
        assert got == want, f"{label}: cut at {places[:20]} of {sample.output.text!r}"


def accounted(markers: Markers, sample: Sample) -> None:
    """Every character of the output went somewhere, once."""
    read, text = _raw_events(sample, ()), sample.output.text
    found = reading.merged(read)
    account = accounting.Account(text, markers, cut=sample.output.finish != "stop")
    opened = sample.request.reasoning_open
    assert account.holds(found, reasoning_open=opened), f"text is lost or made up: {text!r} was read as {found}"
    assert _sentinels(accounting.texts(read)) == _sentinels([text]), f"lost or twice: {text!r} was read as {found}"


def _sentinels(texts: Sequence[str]) -> Counter[str]:
    return Counter(char for text in texts for char in text if char in SENTINELS)


def held_back(sample: Sample) -> Iterator[tuple[int, int]]:
    """After each character: how many were read, and how many of them would be delivered if the output ended there."""
    stream = sample.parser.start(sample.request)
    said = 0
    for end in range(1, len(sample.output.text) + 1):
        said += reading.delivered(stream.feed(sample.output.text[end - 1 : end]))
        yield end, reading.delivered(events(cut(sample, end), ())) - said
