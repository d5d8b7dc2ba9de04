"""``GET /metrics``: Prometheus counters of calls, repairs, and what was not enforced; requests, tokens and times."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest
from msgspec.structs import asdict
from prometheus_client.parser import text_string_to_metric_families

from toolglot.engine.protocol import EngineStats, Speculation
from toolglot.events import Outcome, Repair

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
DAYS = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
HI = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]}
PLAN = {"function": {"name": "plan", "parameters": {"type": "object", "properties": {"days": DAYS}}}}


def read(served):
    """The counters of calls, by name and what is not the same for all."""
    response = served.http.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    found = Counter()
    for family in text_string_to_metric_families(response.text):
        for sample in family.samples:
            labels = dict(sample.labels)
            if sample.name.endswith("_total") and "parser" in labels:
                assert (labels.pop("model"), labels.pop("parser")) == ("scripted", "hermes")
                found[sample.name, *labels.values()] = sample.value
    return found


@pytest.fixture
def counted(served):
    """Tells what has been counted since the test began, without zeros."""
    before = read(served)
    return lambda: {key: value - before[key] for key, value in read(served).items() if value != before[key]}


def test_calls_are_counted_by_outcome_streamed_or_not(served, weather, counted):
    served.engine.say(f"{CALL}\n{CALL.replace('city', 'town')}\n{CALL.replace('get_weather', 'get_time')}")
    served.both(tools=[weather])
    outcomes = ("ok", "schema_violation", "unknown_tool")
    assert counted() == {("toolglot_tool_calls_total", outcome): 2 for outcome in outcomes}


def test_they_are_counted_under_a_stop_string_too(served, weather, counted):
    served.engine.say(f"{CALL}\nDone. More")
    served.both(tools=[weather], stop=".")
    assert counted() == {("toolglot_tool_calls_total", "ok"): 2}


def test_repairs_have_a_counter_of_their_own(served, weather, counted):
    served.engine.say(CALL.removesuffix("\n</tool_call>"))
    served.both(tools=[weather])
    assert counted()["toolglot_tool_call_repairs_total", "missing_closer"] == 2


def test_relaxed_keywords_and_refused_schemas_are_counted(served, counted):
    served.engine.say(CALL.replace("get_weather", "plan").replace('{"city": "Oslo"}', '{"days": [1]}'))
    served.both(tools=[PLAN], tool_choice="required")
    served.error(400, tools=[{"function": {**PLAN["function"], "strict": True}}])
    found = counted()
    assert found["toolglot_relaxed_keywords_total", "uniqueItems"] == 2
    assert found["toolglot_refused_schemas_total",] == 2


def test_calls_that_could_not_be_checked_are_counted(served, counted):
    parameters = {"type": "object", "properties": {"city": {"$ref": "#/nowhere"}}}
    served.engine.say(CALL)
    served.both(tools=[{"function": {"name": "get_weather", "parameters": parameters}}])
    assert counted()["toolglot_tool_calls_not_validated_total",] == 2


def test_replies_that_nothing_held_are_counted(serving, weather):
    served = serving(enforce_strict_tool_calling=False)
    served.engine.say("No.")
    before = read(served)["toolglot_replies_not_enforced_total",]
    served.both(tools=[weather], tool_choice="required")
    served.both(tools=[weather])
    assert read(served)["toolglot_replies_not_enforced_total",] == before + 2


def test_every_outcome_and_repair_is_there_from_the_start(serving):
    found = read(serving(served_model_names=(), port=1))
    assert {key[1] for key in found if key[0] == "toolglot_tool_calls_total"} == set(get_args(Outcome))
    assert {key[1] for key in found if key[0] == "toolglot_tool_call_repairs_total"} == set(get_args(Repair))
    assert not any(found.values())


def test_the_model_is_shown_under_its_first_name(serving):
    served = serving(parser=None, served_model_names=("org/big", "big"))
    assert (
        'toolglot_tool_calls_total{model="org/big",outcome="ok",parser="none"} 0.0' in served.http.get("/metrics").text
    )


def test_the_key_guards_them(serving):
    locked = serving(api_keys=("sesame", "open"))
    assert locked.http.get("/metrics").status_code == 200
    assert locked.http.get("/metrics", headers={"Authorization": ""}).status_code == 401


STATS = EngineStats(
    engine_running=2,
    engine_waiting=3,
    engine_pass_tokens=256,
    cache_blocks=64,
    cache_blocks_held=40,
    cache_blocks_known=50,
    cache_blocks_forgotten=7,
    preemptions=4,
)


def test_what_the_engine_says_of_itself_is_shown_and_nothing_where_it_says_nothing(served):
    def found():
        text = served.http.get("/metrics").text
        samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
        named = {one.name.removeprefix("toolglot_").removesuffix("_total"): one.value for one in samples}
        return {name: named[name] for name in asdict(STATS) if name in named}

    assert found() == {}
    served.engine.stats = STATS
    assert found() == asdict(STATS)
    served.engine.stats = None


class TestTraffic:
    """Values of series, as they grow from the test's beginning on."""

    @pytest.fixture
    def grown(self, served):
        def now():
            text = served.http.get("/metrics").text
            samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
            labels = ("route", "status", "method", "kind")
            return {
                (one.name, *(one.labels[name] for name in labels if name in one.labels)): one.value
                for one in samples
                if "le" not in one.labels
            }

        before = Counter(now())
        return lambda name, *labels: (
            Counter(now())[(f"toolglot_{name}", *labels)] - before[(f"toolglot_{name}", *labels)]
        )

    def test_requests_are_counted_by_route_and_status(self, served, grown):
        served.engine.say("Hi")
        served.post()
        served.post(b"{")
        served.http.get("/v1/models/none/such")
        served.http.get("/v2/nothing")
        assert grown("http_requests_total", "/v1/chat/completions", "200", "POST") == 1
        assert grown("http_requests_total", "/v1/chat/completions", "400", "POST") == 1
        assert grown("http_requests_total", "/v1/models/{name:path}", "404", "GET") == 1
        assert grown("http_requests_total", "none", "404", "other") == 1
        assert grown("http_request_seconds_count", "/v1/chat/completions") == 2

    def test_tokens_and_their_times_are_counted(self, served, grown):
        served.engine.say("four", delay=0.01, cached=3)
        usage = served.post().json()["usage"]
        assert grown("prompt_tokens_total") == usage["prompt_tokens"] > 0
        assert grown("prefix_cache_tokens_total") == usage["prompt_tokens_details"]["cached_tokens"] == 3
        assert grown("completion_tokens_total") == usage["completion_tokens"] == 4
        assert grown("time_to_first_token_seconds_count") == 1
        assert 0.01 <= grown("time_to_first_token_seconds_sum") < 1
        assert grown("inter_token_seconds_count") == 4  # the last is the one that says why it ended
        assert 0.04 <= grown("inter_token_seconds_sum") < 1

    def test_tokens_that_were_guessed_are_counted_by_kind(self, served, grown):
        for told in (Speculation("grammar", 3, 2), Speculation("grammar", 2, 0), Speculation("prompt", 4, 4), None):
            served.engine.say("four", each=4, speculation=told)
        for _ in range(4):
            served.post()
        assert (grown("drafted_tokens_total", "grammar"), grown("accepted_tokens_total", "grammar")) == (5, 2)
        assert (grown("drafted_tokens_total", "prompt"), grown("accepted_tokens_total", "prompt")) == (4, 4)

    def test_what_waits_and_what_runs_is_shown_while_it_does(self, served, grown):
        served.engine.say("x" * 100, delay=0.02)
        with served.http.stream("POST", "/v1/chat/completions", json={**HI, "stream": True}) as response:
            lines = response.iter_lines()
            next(lines)
            assert (grown("replies_waiting"), grown("replies_running")) == (0, 1)
        served.wait_idle()
        assert (grown("replies_waiting"), grown("replies_running")) == (0, 0)

    def test_compiling_is_timed(self, served, weather, grown):
        served.engine.say(CALL)
        served.post(tools=[weather], tool_choice="required")
        assert grown("grammar_compile_seconds_count") == 1
        assert grown("grammar_compile_seconds_sum") > 0
