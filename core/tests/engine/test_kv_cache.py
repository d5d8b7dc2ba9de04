from __future__ import annotations

import torch

from toolglot.engine.kv_cache import KVCache, token_bytes


def cache(pages: int) -> KVCache:
    return KVCache([(2, 8), (1, 4)], pages=pages, page_size=4, like=torch.empty(0))


def test_pages_are_held_by_one_sequence_at_a_time():
    pool = cache(5)
    first, second = pool.reserve(9), pool.reserve(8)

    assert (len(first), len(second)) == (3, 2)
    assert sorted(first + second) == [0, 1, 2, 3, 4]
    assert pool.reserve(1) is None

    pool.release(second)
    assert second == []
    assert pool.free_pages == 2
    assert pool.reserve(9) is None
    assert len(pool.reserve(5)) == 2


def test_pages_are_used_again_before_new_ones_are():
    pool = cache(100)
    pages = pool.reserve(12)
    used = set(pages)
    pool.release(pages)

    assert set(pool.reserve(9)) == used


def test_what_is_stored_lies_in_its_slot():
    pool = cache(3)
    keys, values = torch.randn(2, 1, 4), torch.randn(2, 1, 4)

    stored_keys, stored_values = pool.store(1, torch.tensor([5, 11]), keys, values)

    torch.testing.assert_close(torch.stack([stored_keys[1, 1], stored_keys[2, 3]]), keys)
    torch.testing.assert_close(torch.stack([stored_values[1, 1], stored_values[2, 3]]), values)
    assert stored_keys.count_nonzero() == keys.count_nonzero()


def test_token_bytes_counts_keys_and_values_of_all_layers():
    assert token_bytes([(2, 8), (1, 4)], torch.float32) == 2 * 4 * (16 + 4)
    assert token_bytes([(2, 8), (1, 4)], torch.bfloat16) == 2 * 2 * (16 + 4)
