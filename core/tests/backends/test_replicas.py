"""Which replica gets a request, and which gets none."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from toolglot.backends.replicas import Policy, Replicas

URLS = ("http://a", "http://b", "http://c")
POLICY = Policy(prefix_tokens=4, slack=2, failures=2, rest=1.0, most_rest=4.0)


def of_three():
    return Replicas(URLS, POLICY)


class TestChoice:
    def test_prompts_that_begin_alike_go_together(self):
        replicas = of_three()
        chosen = {replicas.choose((1, 2, 3, 4, more), 0.0) for more in range(9)}
        assert len(chosen) == 1

    def test_others_are_spread(self):
        replicas = of_three()
        chosen = [replicas.choose((start, 2, 3, 4), 0.0) for start in range(300)]
        assert all(chosen.count(one) > 50 for one in replicas.all)

    @given(st.lists(st.integers(0, 9), max_size=6), st.lists(st.integers(0, 9), min_size=3, max_size=3))
    def test_load_stays_near_the_least(self, prompt, loads):
        replicas = of_three()
        for one, load in zip(replicas.all, loads, strict=True):
            one.load = load
        assert replicas.choose(prompt, 0.0).load <= min(loads) + POLICY.slack

    @given(st.lists(st.integers(0, 9), max_size=6))
    def test_the_order_for_a_prompt_does_not_depend_on_the_others(self, prompt):
        replicas = of_three()
        first = replicas.choose(prompt, 0.0)
        second = replicas.choose(prompt, 0.0, {first})
        assert second is not first
        assert Replicas([second.url, "http://new"], POLICY).choose(prompt, 0.0).url in (second.url, "http://new")
        without_first = Replicas([one.url for one in replicas.all if one is not first], POLICY)
        assert without_first.choose(prompt, 0.0).url == second.url

    def test_without_one_there_is_none(self):
        replicas = of_three()
        assert replicas.choose((), 0.0, replicas.all) is None

    def test_where_none_is_well_all_are_tried_that_do_not_drain(self):
        replicas = of_three()
        for one in replicas.all:
            replicas.checked(one, healthy=False, draining=one.url != "http://b", now=0.0)
        assert replicas.choose((), 0.0).url == "http://b"
        assert not replicas.able(0.0)


class TestFailures:
    def fail(self, replicas, now=0.0):
        use = replicas.begin(replicas.all[0])
        replicas.failed(use, now)
        replicas.end(use)

    def test_after_some_it_rests_and_then_gets_one_as_a_trial(self):
        replicas = Replicas(URLS[:2], POLICY)
        first, other = replicas.all
        self.fail(replicas)
        assert replicas.choose((), 0.0, {other}) is first
        self.fail(replicas)
        assert {replicas.choose((number,), 0.9) for number in range(20)} == {other}
        trial = replicas.begin(next(one for n in range(20) if (one := replicas.choose((n,), 1.0)) is first))
        assert trial.trial
        assert {replicas.choose((number,), 1.0) for number in range(20)} == {other}
        replicas.answered(trial)
        assert first in {replicas.choose((number,), 1.0) for number in range(20)}
        replicas.end(trial)

    def test_without_another_its_trial_is_early_and_one_at_a_time(self):
        replicas = Replicas(URLS[:1], POLICY)
        self.fail(replicas)
        self.fail(replicas)
        assert not replicas.able(0.5)
        trial = replicas.begin(replicas.choose((), 0.5))
        assert trial.trial
        assert replicas.choose((), 0.5) is None
        replicas.answered(trial)
        assert replicas.choose((), 1.0) is not None
        replicas.succeeded(trial)
        replicas.end(trial)
        self.fail(replicas, 1.0)
        assert replicas.choose((), 1.0) is not None

    def test_each_rest_is_longer_up_to_a_limit(self):
        replicas = Replicas(URLS[:1], POLICY)
        self.fail(replicas)
        now, rests = 0.0, []
        for _ in range(4):
            self.fail(replicas, now)
            rests.append(replicas.all[0].rests_until - now)
            now = replicas.all[0].rests_until
        assert rests == [1.0, 2.0, 4.0, 4.0]

    def test_many_that_fail_together_are_one_reason_to_rest(self):
        replicas = Replicas(URLS[:1], POLICY)
        for use in [replicas.begin(replicas.all[0]) for _ in range(8)]:
            replicas.failed(use, 0.0)
            replicas.end(use)
        assert replicas.all[0].rests_until == 1.0

    def test_one_that_comes_back_gets_its_trial_at_once(self):
        replicas = Replicas(URLS[:1], POLICY)
        for _ in range(6):
            self.fail(replicas, 0.0)
        (one,) = replicas.all
        replicas.checked(one, healthy=False, draining=False, now=0.1)
        assert not replicas.able(0.2)
        replicas.checked(one, healthy=True, draining=False, now=0.3)
        assert replicas.able(0.3)

    def test_a_trial_that_is_given_up_decides_nothing(self):
        replicas = Replicas(URLS[:1], POLICY)
        for _ in range(2):
            self.fail(replicas, 0.0)
        replicas.end(replicas.begin(replicas.choose((), 2.0)))
        assert replicas.begin(replicas.choose((), 2.0)).trial


class Traffic(RuleBasedStateMachine):
    """Any order of events: what must always hold."""

    def __init__(self):
        super().__init__()
        self.replicas = of_three()
        self.running = []
        self.now = 0.0

    @rule(start=st.integers(0, 5))
    def ask(self, start):
        found = self.replicas.choose((start,), self.now)
        if found is not None:
            assert not found.draining
            self.running.append(self.replicas.begin(found))

    @rule(data=st.data(), how=st.sampled_from(["answered", "succeeded", "failed", "given up"]))
    def go_on(self, data, how):
        if not self.running:
            return
        use = data.draw(st.sampled_from(self.running))
        if how == "answered":
            self.replicas.answered(use)
            return
        if how == "failed":
            self.replicas.failed(use, self.now)
        elif how == "succeeded":
            self.replicas.answered(use)
            self.replicas.succeeded(use)
        self.replicas.end(use)
        self.running.remove(use)

    @rule(number=st.integers(0, 2), healthy=st.booleans(), draining=st.booleans())
    def check(self, number, healthy, draining):
        one = self.replicas.all[number]
        self.replicas.checked(one, healthy=healthy, draining=draining and not healthy, now=self.now)

    @rule(seconds=st.floats(0, 5))
    def wait(self, seconds):
        self.now += seconds

    @invariant()
    def loads_are_what_runs(self):
        assert [one.load for one in self.replicas.all] == [
            sum(use.replica is one for use in self.running) for one in self.replicas.all
        ]

    @invariant()
    def a_trial_is_one(self):
        for one in self.replicas.all:
            trials = [use for use in self.running if use.trial and use.replica is one]
            assert not (one.trial and not trials)

    @invariant()
    def none_rests_longer_than_the_limit(self):
        for one in self.replicas.all:
            assert one.rests_until is None or one.rests_until <= self.now + POLICY.most_rest

    @invariant()
    def nobody_waits_for_ever(self):
        """When nothing runs, somebody gets the next request, unless all drain."""
        if not self.running:
            able = [one for one in self.replicas.all if not one.draining]
            found = self.replicas.choose((), self.now)
            assert (found is not None) == bool(able)


TestTraffic = Traffic.TestCase
TestTraffic.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
