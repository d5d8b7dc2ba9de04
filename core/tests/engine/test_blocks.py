"""The block pool, without tensors."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from toolglot.engine.blocks import BlockPool, block_key, root_key


def keys(*blocks: tuple[int, ...], salt: bytes = b"") -> list[bytes]:
    chain = [root_key(salt)]
    for tokens in blocks:
        chain.append(block_key(chain[-1], tokens))
    return chain[1:]


def published(pool: BlockPool, names: list[bytes]) -> list[int]:
    """Blocks that are held, and can be found by these names."""
    blocks = pool.take(len(names))
    assert blocks is not None
    for block, name in zip(blocks, names, strict=True):
        pool.publish(block, name)
    return blocks


def test_a_key_stands_for_all_tokens_before_it_and_for_the_salt():
    assert keys((1, 2), (3, 4)) == keys((1, 2), (3, 4))
    assert keys((1, 2), (3, 4))[1] != keys((2, 1), (3, 4))[1]
    assert keys((1, 2))[0] != keys((1, 2), salt=b"a")[0] != keys((1, 2), salt=b"b")[0]


def test_blocks_have_one_holder_until_they_are_shared():
    pool = BlockPool(5, 4)
    first, second = pool.take(3), pool.take(2)

    assert sorted([*first, *second]) == [0, 1, 2, 3, 4]
    assert pool.take(1) is None
    pool.release(second)
    assert second == []
    assert (pool.free, pool.held) == (2, 3)
    assert pool.take(2, leave=1) is None
    assert pool.take(1, leave=1) is not None


def test_blocks_are_used_again_before_new_ones_are():
    pool = BlockPool(100, 4)
    blocks = pool.take(3)
    used = set(blocks)
    pool.release(blocks)

    assert set(pool.take(3)) == used


def test_unused_blocks_are_given_away_before_known_content_is_forgotten():
    pool = BlockPool(3, 4)
    names = keys((1,), (2,))
    pool.release(published(pool, names))

    others = pool.take(1)
    assert len(pool.known(names)) == 2
    pool.release(others)
    assert pool.take(1) == [2]  # again: it was used, and nothing is known of it


def test_a_prefix_is_forgotten_from_its_end_and_the_one_that_was_used_last_is_kept_longest():
    pool = BlockPool(4, 4)
    old, new = keys((1,), (2,)), keys((3,), (4,))
    pool.release(published(pool, old))
    pool.release(published(pool, new))
    pool.release(pool.take(0, pool.known(old)))  # so `new` is the older one now

    left = []
    for _ in range(4):
        pool.take(1)
        left.append((len(pool.known(old)), len(pool.known(new))))
    assert left == [(2, 1), (2, 0), (1, 0), (0, 0)]


def test_known_blocks_are_shared_and_live_until_the_last_holder_is_gone():
    pool = BlockPool(2, 4)
    names = keys((1,), (2,))
    first = published(pool, names)
    second = pool.take(0, pool.known(names))

    assert second == first
    assert pool.free == 0
    pool.release(first)
    assert pool.free == 0
    pool.release(second)
    assert pool.free == 2


def test_free_blocks_that_are_shared_count_as_taken():
    pool = BlockPool(3, 4)
    names = keys((1,), (2,))
    pool.release(published(pool, names))

    assert pool.take(2, pool.known(names)) is None
    assert (pool.free, pool.held) == (3, 0)
    assert pool.take(1, pool.known(names)) == [0, 1, 2]


def test_of_two_blocks_with_the_same_content_one_is_found():
    pool = BlockPool(4, 4)
    names = keys((1,))
    first, second = published(pool, names), published(pool, names)

    assert pool.known(names) == first
    pool.release(first)
    pool.release(second)
    assert pool.known(names) == [0]
    assert pool.take(3) == [1, 2, 3]


def test_what_is_forgotten_is_not_found_and_what_others_hold_too_is():
    pool = BlockPool(4, 4)
    names = keys((1,), (2,))
    mine = pool.take(2)
    for block, name in zip(mine, names, strict=True):
        pool.publish(block, name)
    theirs = pool.take(0, pool.known(names[:1]))

    assert pool.forget(mine) == mine[1:]
    assert pool.known(names) == theirs == mine[:1]
    pool.release(mine)
    pool.release(theirs)
    assert (pool.held, pool.published) == (0, 1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 4)), max_size=60))
def test_no_block_has_an_owner_that_it_should_not_have(steps):
    """Holders share the beginnings of what they know, and nothing else."""
    pool = BlockPool(8, 4)
    held: list[tuple[int, list[int]]] = []
    for prompt, length, index in steps:
        if length == 0 and held:
            pool.release(held.pop(index % len(held))[1])
            continue
        names = keys(*[(prompt, at) for at in range(length)])
        known = pool.known(names)
        taken = pool.take(length - len(known), known)
        if taken is None:
            continue
        for block, name in zip(taken, names, strict=True):
            pool.publish(block, name)
        held.append((prompt, taken))
        counts = Counter(block for _, blocks in held for block in blocks)
        assert pool.held == len(counts) == 8 - pool.free
        for prompt_of, blocks in held:
            shared = {block for other, theirs in held if other != prompt_of for block in theirs}
            assert not shared & set(blocks)
            assert len(set(blocks)) == len(blocks)
    for _, blocks in held:
        pool.release(blocks)
    assert (pool.held, pool.free) == (0, 8)
