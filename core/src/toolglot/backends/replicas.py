"""Which replica a request goes to: pure logic, without a clock and without a network."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from msgspec import Struct


class Policy(Struct, frozen=True, kw_only=True):
    """How replicas are chosen and given up."""

    prefix_tokens: int = 256
    """Prompts that are alike in so many first tokens go to the same replica, where its load allows."""
    slack: int = 4
    """How many more requests than the least loaded one it may have then."""
    failures: int = 3
    """After so many failures without a success between them a replica gets no requests for a while."""
    rest: float = 1.0
    """For how long, in seconds; twice as long each time, up to ``most_rest``. Then one request is its trial."""
    most_rest: float = 30.0


@dataclass(eq=False, slots=True)
class Replica:
    """One engine, and what is known of it."""

    url: str
    load: int = 0
    """How many requests it has from here."""
    healthy: bool = True
    """Whether it answered its last check of health."""
    draining: bool = False
    """Whether it asks for no new requests; those that it has go on."""
    failures: int = 0
    """How many requests failed one after the other."""
    rests_until: float | None = None
    """Until when it gets none, and then one as a trial; None: it gets requests."""
    rests: int = 0
    """How often it was given up since it last worked."""
    trial: bool = False
    """Whether the one request that it gets after a rest is running."""


class Use(Struct, frozen=True):
    """One request at a replica. ``trial``: it is to show whether the replica works again."""

    replica: Replica
    trial: bool


class Replicas:
    """The replicas of one model. Every :meth:`begin` is followed by one :meth:`end`."""

    def __init__(self, urls: Collection[str], policy: Policy = Policy()) -> None:  # noqa: B008  it is frozen
        self.all = tuple(Replica(url) for url in dict.fromkeys(urls))
        self._policy = policy

    def choose(self, prompt: Sequence[int], now: float, without: Collection[Replica] = ()) -> Replica | None:
        """The replica for a prompt; None where none may have it.

        Prompts that begin alike have the same order of replicas: the first one in it whose load is near the least gets
        the request. Where no replica is healthy, the others are tried: a check may be wrong. Where all rest, one of
        them gets its trial early: a rest is for others to be used meanwhile.
        """
        some = [one for one in self.all if one not in without]
        able = [one for one in some if self._admits(one, now)]
        able = [one for one in able if one.healthy] or able
        able = able or [one for one in some if not one.draining and not one.trial]
        if len(able) < 2:
            return able[0] if able else None
        least = min(one.load for one in able)
        near = [one for one in able if one.load <= least + self._policy.slack]
        start = array("q", prompt[: self._policy.prefix_tokens]).tobytes()
        return max(near, key=lambda one: _rank(start, one.url))

    def begin(self, replica: Replica) -> Use:
        """It gets a request."""
        replica.load += 1
        use = Use(replica, trial=replica.rests_until is not None)
        replica.trial = replica.trial or use.trial
        return use

    def answered(self, use: Use) -> None:
        """The first token of the reply came: the replica works, but the next failure gives it up again."""
        if use.trial:
            use.replica.rests_until = None
            use.replica.failures = self._policy.failures - 1

    def succeeded(self, use: Use) -> None:
        """The reply ended well."""
        use.replica.failures = use.replica.rests = 0

    def failed(self, use: Use, now: float) -> None:
        """The request failed for reasons of the replica. Of one that rests already, only its trial counts."""
        replica = use.replica
        if replica.rests_until is not None and not use.trial:
            return
        replica.failures += 1
        if replica.failures >= self._policy.failures:
            rest = min(self._policy.rest * 2 ** min(replica.rests, 16), self._policy.most_rest)
            replica.rests_until, replica.rests = now + rest, replica.rests + 1

    def end(self, use: Use) -> None:
        """The request is over, in whatever way."""
        use.replica.load -= 1
        if use.trial:
            use.replica.trial = False

    def checked(self, replica: Replica, *, healthy: bool, draining: bool, now: float) -> None:
        """What a check of its health says. One that has come back gets a trial at once."""
        back = healthy and not replica.healthy
        replica.healthy, replica.draining = healthy, draining
        if back and replica.rests_until is not None:
            replica.rests_until = min(replica.rests_until, now)

    def able(self, now: float) -> bool:
        """Whether any of them would get a request."""
        return any(one.healthy and self._admits(one, now) for one in self.all)

    def _admits(self, replica: Replica, now: float) -> bool:
        if replica.draining:
            return False
        return replica.rests_until is None or (replica.rests_until <= now and not replica.trial)


def _rank(start: bytes, url: str) -> bytes:
    return hashlib.blake2b(start, digest_size=8, key=hashlib.blake2b(url.encode(), digest_size=32).digest()).digest()
