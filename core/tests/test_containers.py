from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolglot import containers
from toolglot.containers import MAX_CONTAINERS, has_too_many

TEXTS = st.text(st.sampled_from('[{"\\,:a}]'), max_size=8)
VALUES = st.recursive(TEXTS | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner))


def count(value: Any) -> int:
    """The objects and lists in a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + sum(map(count, inner))


@given(values=st.lists(VALUES, max_size=3))
def test_objects_and_lists_are_counted_and_what_strings_hold_is_not(values: list[Any]) -> None:
    texts = [json.dumps(value).encode() for value in values]
    total = sum(map(count, values))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(containers, "MAX_CONTAINERS", total)
        assert not has_too_many(texts)
        patch.setattr(containers, "MAX_CONTAINERS", total - 1)
        assert has_too_many(texts)


def test_the_limit_is_for_all_texts_together() -> None:
    text = b"[" + b"[]," * (MAX_CONTAINERS // 2)
    assert not has_too_many([text])
    assert has_too_many([text, text])
    assert not has_too_many([b'"' + b"[" * 2 * MAX_CONTAINERS + b'"'])
