"""The writer by itself: what no scripted model brings about."""

from __future__ import annotations

import time
from types import SimpleNamespace

from toolglot.events import ArgumentsDelta, CallEnd, CallStart, ContentDelta, ReasoningDelta
from toolglot.server.notes import NOTHING
from toolglot.server.responses.protocol import EchoedReasoning, EchoedText, Response, TextFormat
from toolglot.server.responses.writing import ResponseWriter, Shown

ENDED = SimpleNamespace(finish="stop", notes=NOTHING, prompt_tokens=3, cached_tokens=0, completion_tokens=5)


def writer():
    response = Response(
        id="resp_1",
        created_at=0,
        instructions=None,
        max_output_tokens=None,
        max_tool_calls=None,
        model="m",
        parallel_tool_calls=True,
        previous_response_id=None,
        prompt_cache_key=None,
        reasoning=EchoedReasoning(),
        safety_identifier=None,
        store=True,
        temperature=1.0,
        text=EchoedText(TextFormat(), "medium"),
        tool_choice="auto",
        top_logprobs=0,
        tools=(),
        top_p=1.0,
        truncation="disabled",
        user=None,
    )
    return ResponseWriter(response, Shown())


def call(index, name, call_id):
    return [CallStart(index, call_id, name), ArgumentsDelta(index, "{}"), CallEnd(index, "ok")]


def test_calls_of_one_id_become_calls_of_two():
    one = writer()
    one.step([*call(0, "f", "7"), *call(1, "g", "7"), *call(2, "h", "8")], 5)
    one.closing(ENDED)
    first, second, third = (item.call_id for item in one.response.output)
    assert (first, third) == ("7", "8")
    assert second.startswith("call_")


def test_reasoning_is_counted_while_it_is_open():
    one = writer()
    one.step([ReasoningDelta("a")], 2)
    one.step([], 3)
    one.step([ReasoningDelta("b"), ContentDelta("c")], 6)
    one.step([ContentDelta("d")], 9)
    one.closing(ENDED)
    assert one.response.usage.output_tokens_details.reasoning_tokens == 6


def test_the_beginning_of_a_call_is_no_reasoning():
    one = writer()
    one.step([], 1)
    one.step([ReasoningDelta("a")], 2)
    for tokens in range(3, 40):  # the end of the reasoning, and of the call what comes before it is certain
        one.step([], tokens)
    one.step([CallStart(0, "7", "f"), ArgumentsDelta(0, "{}")], 40)
    one.step([CallEnd(0, "ok")], 42)
    one.closing(ENDED)
    assert one.response.usage.output_tokens_details.reasoning_tokens == 2


def test_an_event_costs_no_more_the_longer_the_text_is():
    one = writer()
    times = []
    for _ in range(2):
        start = time.process_time()
        for _ in range(20_000):
            one.step([ContentDelta("word ")], 1)
        times.append(time.process_time() - start)
    assert times[1] < 3 * times[0] + 0.05
