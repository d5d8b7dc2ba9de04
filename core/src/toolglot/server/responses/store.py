"""The responses that clients may come back to, in memory: the most recently used ones."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

_ITEM_OVERHEAD = 256
"""About how many bytes an item takes besides its text."""
_REFERENCE = 8
"""Bytes of one more reference to an item."""


class StoredItem(Struct, frozen=True, eq=False):
    """An item of a conversation: JSON, and the id that the server gave it. Responses of one conversation share it."""

    id: str
    body: bytes

    @property
    def size(self) -> int:
        return len(self.body) + _ITEM_OVERHEAD


class StoredResponse(Struct, frozen=True, eq=False):
    """A response as JSON, with all that it was made of and all that it says."""

    id: str
    body: bytes
    input: tuple[StoredItem, ...]
    output: tuple[StoredItem, ...]

    @property
    def items(self) -> tuple[StoredItem, ...]:
        """The conversation up to its end."""
        return self.input + self.output

    @property
    def size(self) -> int:
        """Bytes besides its items."""
        return len(self.body) + _REFERENCE * len(self.items)


class ResponseStore:
    """At most so many responses, and about so many bytes, whichever is reached first."""

    def __init__(self, max_responses: int, max_bytes: int) -> None:
        self._max_responses = max_responses
        self._max_bytes = max_bytes
        self._responses: OrderedDict[str, StoredResponse] = OrderedDict()
        self._items: dict[str, tuple[StoredItem, int]] = {}
        self.size = 0
        """Bytes, about."""

    def __len__(self) -> int:
        return len(self._responses)

    @property
    def enabled(self) -> bool:
        """Whether anything is stored at all."""
        return self._max_responses > 0

    def add(self, response: StoredResponse) -> None:
        """Keep a response; the least recently used ones make room. One that is too large by itself is not kept."""
        if response.size + sum(item.size for item in response.items) > self._max_bytes:
            return
        self._responses[response.id] = response
        self.size += response.size
        for item in response.items:
            self._hold(item)
        while len(self._responses) > self._max_responses or self.size > self._max_bytes:
            self._forget(self._responses.popitem(last=False)[1])

    def get(self, response_id: str) -> StoredResponse | None:
        """The response of this id, which is then the most recently used one."""
        if response_id in self._responses:
            self._responses.move_to_end(response_id)
        return self._responses.get(response_id)

    def remove(self, response_id: str) -> bool:
        """Forget a response; returns whether there was one. Others that go on from it keep what they were made of."""
        response = self._responses.pop(response_id, None)
        if response is not None:
            self._forget(response)
        return response is not None

    def item(self, item_id: str) -> bytes | None:
        """The item of this id, while a stored response has it."""
        found = self._items.get(item_id)
        return None if found is None else found[0].body

    def _hold(self, item: StoredItem) -> None:
        _, count = self._items.get(item.id, (item, 0))
        self._items[item.id] = (item, count + 1)
        self.size += 0 if count else item.size

    def _forget(self, response: StoredResponse) -> None:
        self.size -= response.size
        for item in response.items:
            self._release(item)

    def _release(self, item: StoredItem) -> None:
        _, count = self._items.pop(item.id)
        if count > 1:
            self._items[item.id] = (item, count - 1)
        else:
            self.size -= item.size
