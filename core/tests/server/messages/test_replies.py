"""Replies: whole and streamed ones mean the same, and carry what the request asked for."""

from __future__ import annotations

import pytest

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def broken(arguments):
    return CALL.replace('{"city": "Oslo"}', arguments)


def types(reply):
    return [block["type"] for block in reply["content"]]


@pytest.mark.parametrize("each", [1, 3, 1000])
def test_thinking_text_and_calls_are_blocks_in_their_order(api, tool, each):
    api.engine.say(f"<think>\nHm, æøå 🌦\n</think>\n\nOne moment. {CALL} And then {CALL}", each=each)
    reply = api.both(tools=[tool])
    assert types(reply) == ["thinking", "text", "tool_use", "text", "tool_use"]
    thinking, text, call, more, _ = reply["content"]
    assert thinking == {"type": "thinking", "thinking": "Hm, æøå 🌦", "signature": ""}
    assert (text["text"], more["text"].strip()) == ("One moment.", "And then")
    assert (call["name"], call["input"]) == ("get_weather", {"city": "Oslo"})
    assert reply["content"][4]["id"] != call["id"]
    assert (reply["stop_reason"], reply["stop_sequence"]) == ("tool_use", None)
    assert (reply["type"], reply["role"], reply["model"]) == ("message", "assistant", "scripted")
    assert reply["toolglot"] == {"calls": [{"outcome": "ok", "repairs": []}] * 2}


def test_usage_is_told_at_the_start_and_the_end(api):
    api.engine.say("Hello.")
    events = api.events()
    prompt = len(api.engine.prompts[-1])
    assert events[0]["message"]["usage"]["input_tokens"] == prompt
    assert (events[-2]["usage"]["input_tokens"], events[-2]["usage"]["output_tokens"]) == (prompt, 6)


def test_tokens_of_the_prompt_that_the_engine_knew_are_counted_apart(api):
    api.engine.say("Hello.", cached=3)
    usage = api.both()["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (len(api.engine.prompts[-1]) - 3, 3)


def test_a_reply_of_nothing_has_no_blocks(api):
    api.engine.say("")
    reply = api.both()
    assert (reply["content"], reply["stop_reason"]) == ([], "end_turn")


class TestFaults:
    """Reported of other servers in public."""

    def test_arguments_in_one_piece_are_sent(self, api, tool):
        """BerriAI/litellm#25836, #25605"""
        api.engine.say(CALL, each=1000)
        deltas = [event["delta"] for event in api.events(tools=[tool]) if event["type"] == "content_block_delta"]
        assert "".join(delta["partial_json"] for delta in deltas) == '{"city": "Oslo"}'

    @pytest.mark.parametrize("each", [1, 1000])
    def test_a_reply_with_a_call_stops_for_it_and_has_no_empty_text(self, api, tool, each):
        """BerriAI/litellm#34692"""
        api.engine.say(CALL, each=each)
        reply = api.both(tools=[tool])
        assert (types(reply), reply["stop_reason"]) == (["tool_use"], "tool_use")


class TestStopReasons:
    def test_the_end_of_the_turn(self, api):
        api.engine.say("Done.")
        reply = api.both(stop_sequences=["zzz"])
        assert (reply["content"][0]["text"], reply["stop_reason"]) == ("Done.", "end_turn")

    def test_the_limit(self, api):
        api.engine.say("one two three")
        reply = api.both(max_tokens=7)
        assert (reply["content"][0]["text"], reply["stop_reason"]) == ("one two", "max_tokens")

    def test_the_context_where_the_client_asks_for_more(self, api):
        api.engine.say("x" * 7000, each=100)
        reply = api.both(max_tokens=64000)
        assert reply["stop_reason"] == "model_context_window_exceeded"
        assert reply["usage"]["input_tokens"] + reply["usage"]["output_tokens"] == 6000

    def test_less_than_the_context_ends_as_ever(self, api):
        api.engine.say("Done.")
        assert api.both(max_tokens=64000)["stop_reason"] == "end_turn"

    def test_a_stop_sequence_is_named(self, api):
        api.engine.say("one two three four")
        reply = api.both(stop_sequences=["zzz", " three"])
        assert reply["content"][0]["text"] == "one two"
        assert (reply["stop_reason"], reply["stop_sequence"]) == ("stop_sequence", " three")

    def test_a_call_before_a_stop_sequence_wins(self, api, tool):
        api.engine.say(f"{CALL} And now. The end")
        reply = api.both(tools=[tool], stop_sequences=["."])
        assert (reply["stop_reason"], reply["stop_sequence"]) == ("tool_use", None)

    def test_a_named_call_is_tool_use(self, api, tool):
        api.engine.say(CALL)
        assert api.both(tools=[tool], tool_choice={"type": "tool", "name": "get_weather"})["stop_reason"] == "tool_use"


class TestArguments:
    def test_a_call_without_any_has_an_empty_object(self, api):
        tool = {"name": "now", "input_schema": {"type": "object"}}
        api.engine.say('<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>')
        assert api.both(tools=[tool])["content"][0]["input"] == {}

    def test_a_call_cut_before_its_arguments_still_streams_json(self, api, tool):
        api.engine.say(CALL)
        size = len('..{"name": "get_weather", "arguments": {')
        reply = api.post(tools=[tool], max_tokens=size).json()
        assert (types(reply), reply["content"][0]["input"], reply["stop_reason"]) == (["tool_use"], {}, "max_tokens")

    def test_a_cut_call_has_what_is_complete_of_it(self, api, tool):
        text, _ = broken('{"city": "Oslo", "days": [1, 2, {"a": "cut"}]}').split('t"}]')
        api.engine.say(text, finish="length")
        reply = api.post(tools=[tool]).json()
        assert reply["content"][0]["input"] == {"city": "Oslo", "days": [1, 2, {}]}
        assert reply["toolglot"]["calls"] == [
            {"outcome": "truncated", "repairs": [], "input": '{"city": "Oslo", "days": [1, 2, {"a": "cu'}
        ]

    def test_what_is_no_json_never_fails(self, api, tool):
        api.engine.say(broken('{"city": "Oslo", "days": two}'))
        reply = api.post(tools=[tool]).json()
        assert (reply["content"][0]["input"], reply["stop_reason"]) == ({"city": "Oslo"}, "tool_use")
        (note,) = reply["toolglot"]["calls"]
        assert note["outcome"] == "malformed"
        assert note["input"].startswith('{"city": "Oslo", "days": two}')
        events = api.events(tools=[tool])
        deltas = [event["delta"]["partial_json"] for event in events if event["type"] == "content_block_delta"]
        assert "".join(deltas) == '{"city": "Oslo"}'
        assert events[-2]["toolglot"] == reply["toolglot"]
        assert events[-1]["type"] == "message_stop"

    def test_numbers_of_any_size_come_through(self, api, tool):
        api.engine.say(broken('{"city": 123456789012345678901234567890}'))
        assert api.both(tools=[tool])["content"][0]["input"] == {"city": 123456789012345678901234567890}


class TestToolChoice:
    def test_any_demands_a_call_and_none_forbids_it(self, api, tool):
        api.engine.say(CALL)
        assert types(api.both(tools=[tool], tool_choice={"type": "any"})) == ["tool_use"]
        assert api.engine.constraints[-1] is not None
        api.engine.reset()
        api.engine.say(CALL, spelled=True)
        reply = api.both(tools=[tool], tool_choice={"type": "none"})
        assert (types(reply), reply["stop_reason"]) == (["text"], "end_turn")

    def test_several_calls_where_one_was_asked_for_are_noted(self, api, tool):
        api.engine.say(f"{CALL}\n{CALL}")
        reply = api.both(tools=[tool], tool_choice={"type": "auto", "disable_parallel_tool_use": True})
        assert reply["toolglot"]["parallel_tool_calls"] == "not_enforced"
        assert types(reply) == ["tool_use", "tool_use"]

    def test_a_strict_tool_is_held_to_its_schema(self, api, tool):
        schema = {**tool["input_schema"], "additionalProperties": False}
        api.engine.say(CALL)
        assert types(api.both(tools=[{**tool, "input_schema": schema, "strict": True}])) == ["tool_use"]
        assert api.engine.constraints[-1] is not None


class TestThinking:
    @pytest.mark.parametrize("kind", ["enabled", "adaptive"])
    def test_it_can_be_asked_for(self, api, kind):
        api.engine.say("Two and two\n</think>\n\nFour.")
        reply = api.both(thinking={"type": kind, "budget_tokens": 1024})
        assert api.engine.prompt.endswith("<think>\n")
        assert [block.get("thinking", block.get("text")) for block in reply["content"]] == ["Two and two", "Four."]

    def test_it_can_be_switched_off(self, api):
        api.engine.say("Four.")
        assert types(api.both(thinking={"type": "disabled"})) == ["text"]
        assert api.engine.prompt.endswith("</think>\n\n")

    def test_it_can_be_left_out(self, api):
        api.engine.say("Hm\n</think>\n\nFour.")
        assert types(api.both(thinking={"type": "enabled", "budget_tokens": 1024, "display": "omitted"})) == ["text"]

    def test_the_templates_arguments_win(self, api):
        api.engine.say("Four.")
        api.both(thinking={"type": "adaptive"}, chat_template_kwargs={"enable_thinking": False})
        assert api.engine.prompt.endswith("</think>\n\n")

    def test_effort_reaches_the_template(self, api):
        api.engine.say("ok")
        api.both(output_config={"effort": "low"})
        assert api.engine.prompt.endswith("effort: low\n")


@pytest.mark.parametrize("field", ["output_config", "output_format"])
def test_an_output_format_is_held_to(api, field):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "schema": schema}
    api.engine.say('{"n": 4}')
    reply = api.both(**{field: {"format": form} if field == "output_config" else form})
    assert reply["content"][0]["text"] == '{"n": 4}'
    assert api.engine.constraints[-1] is not None


def test_sampling_reaches_the_engine(api):
    api.engine.say("ok")
    api.both(temperature=0.3, top_p=0.9, top_k=40, metadata={"user_id": "u"}, service_tier="auto")
    sampling = api.engine.samplings[-1]
    assert (sampling.temperature, sampling.top_p, sampling.top_k, sampling.max_tokens) == (0.3, 0.9, 40, 500)


def test_extensions_can_be_left_out(apis, tool):
    api = apis(extensions=False)
    api.engine.say(CALL)
    assert "toolglot" not in api.both(tools=[tool])
