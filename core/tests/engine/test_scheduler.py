"""The scheduler, without tensors: a fake forward pass that writes down what lies in which slot."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolglot.engine.blocks import BlockPool
from toolglot.engine.drafts import Drafts
from toolglot.engine.protocol import SamplingParams
from toolglot.engine.scheduler import PATIENCE, Piece, Scheduler
from toolglot.engine.sequence import Sequence

SIZE = 4


def request(prompt: list[int], max_tokens: int = 1, salt: bytes = b"") -> Sequence:
    sampling = SamplingParams(max_tokens=max_tokens, cache_salt=salt)
    return Sequence(list(prompt), sampling, None, 0, asyncio.Queue())


def scheduler(blocks: int = 16, max_num_seqs: int = 4, budget: int = 8) -> Scheduler:
    return Scheduler(BlockPool(blocks, SIZE), max_num_seqs=max_num_seqs, budget=budget)


class Machine:
    """Runs a scheduler, and checks in every pass what holds in each. ``slots`` has the tokens up to a slot's own, as a
    real cache has keys and values that depend on all of them.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.slots: dict[int, tuple[int, ...]] = {}
        self.order: list[Sequence] = []
        self.finished: list[Sequence] = []
        self.prompts: dict[Sequence, int] = {}
        self.right, self.wrong = 0, 0
        """How many tokens are guessed, first right ones, then wrong ones."""

    def add(self, sequence: Sequence) -> None:
        self.order.append(sequence)
        self.prompts[sequence] = len(sequence.tokens)
        self.scheduler.add(sequence)

    def drop(self, sequence: Sequence) -> None:
        self.order.remove(sequence)
        self.scheduler.drop(sequence)

    def step(self, *, fails: bool = False) -> list[Piece]:
        pieces = self.drafted(self.scheduler.schedule())
        self.check(pieces)
        for piece in pieces:
            self.compute(piece)
        if fails:  # a pass that is tried again: part of its slots may have been written to
            return pieces
        complete = [piece for piece in pieces if piece.completes]
        self.scheduler.advance(pieces)
        for piece in complete:
            self.sample(piece)
        return pieces

    def drafted(self, pieces: list[Piece]) -> list[Piece]:
        for piece in pieces:
            sequence = piece.sequence
            length = len(sequence.tokens)
            guesses = [token(length + at) for at in range(self.right)] + [7] * self.wrong
            sequence.drafts = Drafts(guesses[: sequence.room - 1])
        running = [*self.scheduler.running]
        extended = self.scheduler.extend(pieces)
        assert self.scheduler.running == running
        assert [(one.sequence, one.count - one.drafts) for one in extended] == counts(pieces)
        return extended

    def check(self, pieces: list[Piece]) -> None:
        assert bool(pieces) == bool(self.order)
        assert sum(piece.count for piece in pieces) <= self.scheduler.budget
        assert all(piece.count > 0 for piece in pieces)
        assert len({piece.sequence for piece in pieces}) == len(pieces)
        assert self.scheduler.sequences == self.order  # what runs came before what waits
        assert all(not sequence.blocks and sequence.computed == 0 for sequence in self.scheduler.waiting)
        decoding = {sequence for sequence in self.scheduler.running if sequence.pending == 1}
        assert decoding <= {piece.sequence for piece in pieces}

    def compute(self, piece: Piece) -> None:
        sequence = piece.sequence
        tokens = [*sequence.tokens[: sequence.computed], *piece.tokens]
        writers = Counter(block for other in self.order for block in other.blocks)
        for at in range(sequence.computed, piece.end):
            block = sequence.blocks[at // SIZE]
            assert writers[block] == 1, "a block that others hold too is written to"
            self.slots[block * SIZE + at % SIZE] = tuple(tokens[: at + 1])
        for at in range(piece.end):
            slot = sequence.blocks[at // SIZE] * SIZE + at % SIZE
            assert self.slots[slot] == tuple(tokens[: at + 1])

    def sample(self, piece: Piece) -> None:
        sequence, length = piece.sequence, len(piece.sequence.tokens)
        for draft in (*sequence.drafts.tokens[: piece.drafts], None):
            sequence.tokens.append(token(len(sequence.tokens)))
            sequence.generated += 1
            if sequence.tokens[-1] != draft:
                break
        self.scheduler.accept(sequence, len(sequence.tokens) - length - 1)
        assert sequence.pending == 1
        if sequence.generated == sequence.sampling.max_tokens:
            self.finished.append(sequence)
            self.drop(sequence)

    def run(self) -> None:
        while self.order:
            self.step()


def token(place: int) -> int:
    """What is generated at a place."""
    return place % 3


def counts(pieces: list[Piece]) -> list[tuple[Sequence, int]]:
    return [(piece.sequence, piece.count) for piece in pieces]


def test_decoding_comes_first_and_prompts_share_what_is_left_in_order():
    machine = Machine(scheduler())
    first, second, third = request([1, 2], 5), request([3] * 9, 5), request([4] * 9, 5)
    machine.add(first)
    machine.step()
    machine.add(second)
    machine.add(third)

    assert counts(machine.step()) == [(first, 1), (second, 7)]
    assert counts(machine.step()) == [(first, 1), (second, 2), (third, 5)]
    assert counts(machine.step()) == [(first, 1), (second, 1), (third, 4)]


def test_a_prompt_that_is_known_is_not_computed_again_but_for_its_last_token():
    machine = Machine(scheduler())
    machine.add(request([*range(12)]))
    machine.run()
    same, longer, other = request([*range(12)]), request([*range(12), 1, 2]), request([5, *range(11)])
    for sequence in (same, longer, other):
        machine.add(sequence)
    machine.run()

    assert (same.cached, longer.cached, other.cached) == (8, 12, 0)


def test_blocks_that_are_still_being_filled_elsewhere_are_used_as_far_as_they_are():
    machine = Machine(scheduler())
    machine.add(request([*range(14)], 3))
    second = request([*range(14)], 3)
    machine.add(second)
    machine.step()
    assert second.cached is None  # the first one's prompt takes all of the pass

    machine.step()
    assert second.cached == 8


def test_generated_tokens_are_a_prefix_too():
    machine = Machine(scheduler())
    first = request([1, 2, 3], 10)
    machine.add(first)
    machine.run()
    follow_up = request([*first.tokens, 7])
    machine.add(follow_up)
    machine.run()

    assert follow_up.cached == 12


def test_another_salt_shares_nothing():
    machine = Machine(scheduler())
    prompt = [*range(12)]
    sequences = [request(prompt, salt=salt) for salt in (b"a", b"b", b"a", b"")]
    for sequence in sequences:
        machine.add(sequence)
        machine.run()

    assert [sequence.cached for sequence in sequences] == [0, 0, 8, 0]


def test_when_blocks_run_out_the_last_one_admitted_makes_room_and_comes_next():
    machine = Machine(scheduler(blocks=5))
    first, second, third = request([1] * 4, 16), request([2] * 4, 12), request([3], 1)
    machine.add(first)
    machine.add(second)
    machine.add(third)
    while second in machine.scheduler.running or second.generated == 0:
        machine.step()

    assert second.generated > 0
    assert machine.scheduler.waiting[0] is second
    machine.run()
    assert [(len(one.tokens), one.generated) for one in (first, second, third)] == [(20, 16), (16, 12), (2, 1)]


def test_a_sequence_that_waits_again_keeps_what_was_first_said_of_the_cache():
    machine = Machine(scheduler(blocks=5))
    first, second = request([1] * 4, 16), request([2] * 4, 12)
    machine.add(first)
    machine.add(second)
    machine.run()

    assert second.cached == 0


def test_admission_leaves_a_block_for_each_that_runs():
    machine = Machine(scheduler(blocks=5))
    first, second = request([1] * 4, 9), request([2] * 12, 1)
    machine.add(first)
    machine.step()
    machine.add(second)
    machine.step()

    assert machine.scheduler.running == [first]


def test_a_sequence_of_the_greatest_length_always_fits():
    machine = Machine(scheduler(blocks=4))
    longest = request([1] * 3, 13)
    machine.add(request([5] * 4, 6))
    machine.add(longest)
    machine.run()

    assert len(longest.tokens) == 16


def test_the_budget_shrinks_down_to_a_token_for_each_sequence():
    small = scheduler(max_num_seqs=3, budget=20)

    assert [(small.shrink(), small.budget) for _ in range(4)] == [(True, 10), (True, 5), (False, 5), (False, 5)]
    assert scheduler(max_num_seqs=8, budget=3).budget == 16


def passes(machine: Machine, count: int) -> int:
    """The budget after so many passes that went well."""
    for _ in range(count):
        machine.scheduler.advance([])
    return machine.scheduler.budget


def test_the_budget_grows_back_and_each_time_that_was_too_soon_it_takes_twice_as_many_passes():
    machine = Machine(scheduler(max_num_seqs=2, budget=33))
    machine.scheduler.shrink()
    assert passes(machine, 2 * PATIENCE - 1) == 16
    assert passes(machine, 1) == 32
    assert passes(machine, 2 * PATIENCE) == 33  # never more than at first
    assert passes(machine, 9 * PATIENCE) == 33

    machine.scheduler.shrink()
    machine.scheduler.shrink()
    assert passes(machine, 8 * PATIENCE - 1) == 8
    assert passes(machine, 1) == 16
    assert passes(machine, 8 * PATIENCE - 1) == 16
    assert passes(machine, 1) == 32


def test_memory_that_is_short_for_good_costs_ever_fewer_passes():
    machine = Machine(scheduler(max_num_seqs=1, budget=64))
    failed = 0
    for _ in range(100 * PATIENCE):
        if machine.scheduler.budget > 8:
            failed += machine.scheduler.shrink()
        else:
            machine.scheduler.advance([])

    assert failed == 3 + 3  # at first, then after 8, 24 and 56 times the patience


def test_a_pass_that_is_tried_again_loses_nothing():
    machine = Machine(scheduler(max_num_seqs=2, budget=8))
    sequence = request([*range(10)], 4)
    machine.add(sequence)
    machine.step(fails=True)
    machine.scheduler.shrink()
    machine.run()

    assert (len(sequence.tokens), machine.scheduler.blocks.held) == (14, 0)


@pytest.mark.parametrize("waits", [False, True])
def test_what_is_dropped_gives_its_blocks_back(waits):
    machine = Machine(scheduler(max_num_seqs=1))
    machine.add(request([1, 2, 3], 5))
    machine.add(request([1, 2, 3], 5))
    machine.step()
    machine.drop(machine.order[waits])
    machine.run()

    assert machine.scheduler.blocks.held == 0


def test_drafts_that_come_save_passes():
    machine = Machine(scheduler(budget=20))
    machine.right = 3
    sequence = request([1, 2], 9)
    machine.add(sequence)

    assert [counts(machine.step()) for _ in range(3)] == [[(sequence, 5)], [(sequence, 4)], [(sequence, 1)]]
    assert (machine.finished, machine.scheduler.blocks.held) == ([sequence], 0)


def test_drafts_that_do_not_come_are_in_no_block_that_others_find():
    machine = Machine(scheduler(budget=20))
    machine.wrong = 6
    machine.add(request([1, 2], 5))
    machine.step()
    guessed = request([1, 2, token(2), 7, 7, 7, 7, 7, 7], 1)
    machine.add(guessed)
    machine.run()

    assert guessed.cached == 0


def test_drafts_take_what_prompts_leave_of_the_budget():
    machine = Machine(scheduler(budget=8))
    first, second = request([1, 2], 9), request([3] * 12, 1)
    machine.add(first)
    machine.step()
    machine.right = 5
    machine.add(second)

    assert [counts(machine.step()) for _ in range(2)] == [[(first, 1), (second, 7)], [(first, 3), (second, 5)]]


def test_drafts_take_no_block_that_a_sequence_may_need():
    machine = Machine(scheduler(blocks=4, budget=20))
    first, second = request([1] * 4, 12), request([2] * 3, 5)
    machine.add(first)
    machine.add(second)
    machine.step()
    machine.wrong = 9
    (_, longer), (_, other) = counts(machine.step())

    assert (longer, other) == (4, 1)  # to the end of the block that it needs; of the two left, none


def test_a_long_prompt_takes_no_step_from_those_that_generate():
    machine = Machine(scheduler(blocks=64, max_num_seqs=4, budget=8))
    early = [request([n], 30) for n in range(3)]
    for sequence in early:
        machine.add(sequence)
    machine.step()
    machine.add(request([9] * 100, 1))

    for _ in range(20):
        assert [count for sequence, count in counts(machine.step()) if sequence in early] == [1, 1, 1]
    assert len(machine.finished) == 1  # and it has been read meanwhile, five tokens at a time
    assert {sequence.generated for sequence in early} == {21}


def test_under_constant_load_each_begins_and_goes_on_in_turn_preempted_or_not():
    machine = Machine(scheduler(blocks=9, max_num_seqs=3, budget=6))
    requests = [request([n] * (1 + 7 * n % 11), 2 + 5 * n % 17) for n in range(60)]
    begun: list[Sequence] = []
    while len(machine.finished) < len(requests):
        while len(machine.scheduler.waiting) < 4 and len(machine.prompts) < len(requests):
            machine.add(requests[len(machine.prompts)])
        oldest = machine.order[0]
        served = [piece.sequence for piece in machine.step()]  # that what runs came before what waits is seen there
        assert oldest in served
        begun += [sequence for sequence in served if sequence not in begun]

    assert begun == requests
    assert machine.scheduler.preemptions > 5


prompts = st.one_of(
    st.lists(st.integers(0, 1), min_size=1, max_size=12),
    st.integers(1, 20).map(lambda length: [*range(length)]),  # prefixes of one another
)
sequences = st.builds(request, prompts, st.integers(1, 12), st.sampled_from([b"", b"other"]))
guesses = st.tuples(st.integers(0, 6), st.integers(0, 3))
events = st.one_of(sequences, guesses, st.sampled_from(["step", "step", "fail", "shrink"]), st.integers(0, 9))


@settings(deadline=None)
@given(
    script=st.lists(events, max_size=50),
    blocks=st.integers(8, 14),  # 8 blocks are one sequence of the greatest length
    max_num_seqs=st.integers(1, 5),
    budget=st.integers(1, 24),
)
def test_whatever_comes_every_sequence_ends_and_no_block_is_lost(script, blocks, max_num_seqs, budget):
    machine = Machine(scheduler(blocks, max_num_seqs, budget))
    added = dropped = 0
    for event in script:
        if isinstance(event, Sequence):
            machine.add(event)
            added += 1
        elif event in ("step", "fail"):
            machine.step(fails=event == "fail")
        elif event == "shrink":
            machine.scheduler.shrink()
        elif isinstance(event, tuple):
            machine.right, machine.wrong = event
        elif machine.order:
            machine.drop(machine.order[event % len(machine.order)])
            dropped += 1
    machine.run()

    assert machine.scheduler.blocks.held == 0
    assert len(machine.finished) == added - dropped
    for sequence in machine.finished:
        assert len(sequence.tokens) == machine.prompts[sequence] + sequence.sampling.max_tokens


@settings(deadline=None)
@given(st.lists(sequences, min_size=2, max_size=12))
def test_first_tokens_come_in_the_order_of_the_requests(requests):
    machine = Machine(scheduler(blocks=8, max_num_seqs=3, budget=6))
    for sequence in requests:
        machine.add(sequence)
    begun: list[Sequence] = []
    while machine.order:
        machine.step()
        fresh = [one for one in requests if one.generated and one not in begun]
        begun += fresh

    assert begun == requests
