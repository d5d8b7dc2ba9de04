"""L0: the declaration is anchored in what models really write. The other laws cannot see a wrong declaration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolglot.testing import chunking
from toolglot.testing.cases import ANCHORS, Case, expectation, load_cases, meaning
from toolglot.testing.checks import message, whole
from toolglot.testing.laws.suite import Suite
from toolglot.testing.markers import matches


class Anchored(Suite):
    """Cases, and where markers come from."""

    def test_l0_cases(self, case: Case) -> None:
        """Each case means what it says, as a whole and at every chunking that users meet."""
        sample = self.subject.sample(case.raw_output, case.request, case.finish_reason)
        want = expectation(case.expected)
        assert meaning(whole(sample), case.expected) == want
        for label, places in _chunkings(case):
            assert meaning(message(sample, places), case.expected) == want, f"in pieces of {label}"

    def test_l0_markers(self) -> None:
        """Each marker is in an output that the model's own template or tokenizer wrote, or is declared as unchecked."""
        anchored = [case.raw_output for case in load_cases(self.cases) if case.origin in ANCHORS]
        missing = {
            marker for marker in self.subject.markers.every if not any(any(matches(marker, text)) for text in anchored)
        }
        assert missing == self.unchecked


def _chunkings(case: Case) -> Iterator[tuple[str, Sequence[int]]]:
    cuts = range(1, len(case.raw_output))
    yield "everything", ()
    for size in (1, 3, 7):
        yield f"{size} characters", chunking.sized(cuts, size)
    yield "one token", chunking.words(case.raw_output)
    if case.chunks:
        yield "its own", chunking.of_chunks(case.chunks)
