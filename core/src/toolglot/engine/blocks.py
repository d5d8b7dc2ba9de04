"""The blocks of the paged cache: who holds them, and which tokens' keys and values are known to be in them."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable
from collections.abc import Sequence as Seq
from hashlib import sha256


def root_key(salt: bytes) -> bytes:
    """What the first block's key is made of: sequences with another salt share no blocks."""
    return sha256(salt).digest()


def block_key(parent: bytes, tokens: Seq[int]) -> bytes:
    """The key of a full block: it stands for its tokens and, by its parent's key, for all before them."""
    return sha256(parent + array("q", tokens).tobytes()).digest()


class BlockPool:
    """``count`` blocks of ``size`` tokens. A block may have several holders, and is free when it has none.

    A free block whose content is known keeps it until there is no other to give away: then the least recently used
    one is.
    """

    def __init__(self, count: int, size: int) -> None:
        self.size = size
        self._holders = [0] * count
        self._keys: list[bytes | None] = [None] * count
        self._known: dict[bytes, int] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()
        """Free blocks of known content, the least recently used first."""
        self._spare: list[int] = []
        """Free blocks of unknown content."""
        self._untouched = 0
        """Blocks from this one on were never given away."""
        self.forgotten = 0
        """How often known content had to make room."""

    @property
    def free(self) -> int:
        """How many blocks nobody holds."""
        return len(self._holders) - self._untouched + len(self._spare) + len(self._idle)

    @property
    def held(self) -> int:
        """How many blocks somebody holds."""
        return len(self._holders) - self.free

    def __len__(self) -> int:
        return len(self._holders)

    @property
    def published(self) -> int:
        """How many blocks have known content."""
        return len(self._known)

    def known(self, keys: Iterable[bytes]) -> list[int]:
        """The blocks of these keys, up to the first that no block has."""
        found: list[int] = []
        for key in keys:
            if key not in self._known:
                break
            found.append(self._known[key])
        return found

    def take(self, count: int, known: Seq[int] = (), *, leave: int = 0) -> list[int] | None:
        """Hold ``known`` blocks and ``count`` others; None, and nothing is held, if fewer than ``leave`` stay free."""
        if count + sum(block in self._idle for block in known) + leave > self.free:
            return None
        for block in known:
            self._idle.pop(block, None)
            self._holders[block] += 1
        return [*known, *(self._next() for _ in range(count))]

    def publish(self, block: int, key: bytes) -> None:
        """Let others find what a block holds. Of several blocks with the same content, one is found."""
        if self._keys[block] is None and key not in self._known:
            self._keys[block] = key
            self._known[key] = block

    def forget(self, blocks: Iterable[int]) -> list[int]:
        """Let nobody find what these blocks hold, but for those that others hold too; return the first kind."""
        alone = [block for block in blocks if self._holders[block] == 1]
        for block in alone:
            key, self._keys[block] = self._keys[block], None
            if key is not None:
                del self._known[key]
        return alone

    def release(self, blocks: list[int]) -> None:
        """Give up the blocks of a sequence, and empty its list."""
        # From the last: a sequence's first blocks, which others may begin with too, are given away after the rest.
        while blocks:
            block = blocks.pop()
            self._holders[block] -= 1
            if not self._holders[block]:
                self._shelve(block)

    def _shelve(self, block: int) -> None:
        if self._keys[block] is None:
            self._spare.append(block)
        else:
            self._idle[block] = None

    def _next(self) -> int:
        block = self._spare.pop() if self._spare else self._fresh()
        self._holders[block] = 1
        return block

    def _fresh(self) -> int:
        """A block that was never used, which takes memory from now on; if there is none, one is forgotten."""
        if self._untouched < len(self._holders):
            self._untouched += 1
            return self._untouched - 1
        block, _ = self._idle.popitem(last=False)
        key, self._keys[block] = self._keys[block], None
        if key is not None:
            del self._known[key]
            self.forgotten += 1
        return block
