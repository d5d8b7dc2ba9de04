"""``GET /metrics``: Prometheus counters of calls, repairs, and what was not enforced."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from toolglot.events import Outcome, Repair

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
DAYS = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
PLAN = {"function": {"name": "plan", "parameters": {"type": "object", "properties": {"days": DAYS}}}}


def read(served):
    """The counters, by name and what is not the same for all."""
    response = served.http.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    found = Counter()
    for family in text_string_to_metric_families(response.text):
        for sample in family.samples:
            if sample.name.endswith("_total"):
                labels = dict(sample.labels)
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
    locked = serving(api_key="sesame")
    assert locked.http.get("/metrics").status_code == 200
    assert locked.http.get("/metrics", headers={"Authorization": ""}).status_code == 401
