from __future__ import annotations

import torch

from toolglot.engine.kv_cache import KVCache, token_bytes
from toolglot.engine.shapes import LayerShape, Scoring

LAYERS = [LayerShape(4, 2, 8, 8, Scoring(1.0)), LayerShape(4, 1, 6, 4, Scoring(1.0))]


def test_what_is_stored_lies_in_its_slot():
    pool = KVCache(LAYERS, blocks=3, block_size=4, like=torch.empty(0))
    keys, values = torch.randn(2, 1, 6), torch.randn(2, 1, 4)

    stored_keys, stored_values = pool.store(1, torch.tensor([5, 11]), keys, values)

    torch.testing.assert_close(torch.stack([stored_keys[1, 1], stored_keys[2, 3]]), keys)
    torch.testing.assert_close(torch.stack([stored_values[1, 1], stored_values[2, 3]]), values)
    assert stored_keys.count_nonzero() == keys.count_nonzero()


def test_token_bytes_counts_keys_and_values_of_all_layers():
    assert token_bytes(LAYERS, torch.float32) == 4 * (2 * (8 + 8) + 1 * (6 + 4))
    assert token_bytes(LAYERS, torch.bfloat16) == 2 * (2 * (8 + 8) + 1 * (6 + 4))
