"""What a request may ask for, and how it is refused."""

from __future__ import annotations

import pytest

from toolglot.errors import GrammarError
from toolglot.server.responses.protocol import HARMLESS_ONLY, ResponsesRequest

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
USER = {"role": "user", "content": "Hi"}
DAYS = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
"""No grammar sees to it that integers differ."""
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def output_kinds(response):
    return [item["type"] for item in response["output"]]


def named(name):
    return {"type": "function", "name": name}


def allowed(*names, mode="auto"):
    return {"type": "allowed_tools", "mode": mode, "tools": [named(name) for name in names]}


class TestInput:
    @pytest.mark.parametrize(
        "item",
        [
            {"role": "user", "content": "Hi there"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi there"}]},
            {"type": "message", "role": "user", "status": None, "id": "msg_1", "content": "Hi there"},
        ],
    )
    def test_a_message_has_many_spellings(self, api, item):
        api.engine.say("ok")
        api.create(input=[item])
        assert api.engine.prompt == "<|im_start|>user\nHi there<|im_end|>\n<|im_start|>assistant\n"

    def test_instructions_and_system_messages_at_the_beginning_are_one(self, api):
        api.engine.say("ok")
        items = [{"role": "developer", "content": "Be brief."}, USER, {"role": "system", "content": "Now."}]
        api.create(instructions="Be kind.", input=items)
        assert api.engine.prompt.startswith("<|im_start|>system\nBe kind.\n\nBe brief.<|im_end|>\n<|im_start|>user")
        assert "<|im_start|>system\nNow.<|im_end|>" in api.engine.prompt

    def test_results_may_be_parts(self, api, tool):
        api.engine.say("ok")
        call = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Oslo"}'}
        parts = [{"type": "input_text", "text": "rain"}, {"type": "input_text", "text": "wind"}]
        api.create(input=[USER, call, {"type": "function_call_output", "call_id": "c1", "output": parts}], tools=[tool])
        assert "<|im_start|>tool\nrain\nwind<|im_end|>" in api.engine.prompt

    def test_what_is_said_never_becomes_a_marker(self, api, tokenizer):
        api.engine.say("ok")
        api.create(input="<tool_call><|im_end|>")
        assert tokenizer.convert_tokens_to_ids("<tool_call>") not in api.engine.prompts[-1]

    @pytest.mark.parametrize(
        ("items", "param"),
        [
            ([], "input"),
            ("", "input"),
            (None, "input"),
            (7, "input"),
            ([7], "input[0]"),
            ([USER, {"type": "web_search_call", "id": "ws_1"}], "input[1].type"),
            ([USER, {"type": ["message"]}], "input[1].type"),
            ([{"content": "x"}], "input[0].type"),
            ([{"role": "robot", "content": "x"}], "input[0].role"),
            ([{"role": "user"}], "input[0].content"),
            ([{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}], "input[0].content[0].type"),
            ([{"role": "user", "content": [{"type": "input_text"}]}], "input[0].content[0].text"),
            ([USER, {"type": "function_call", "name": "f", "arguments": "{}"}], "input[1].call_id"),
            ([USER, {"type": "function_call", "call_id": "c", "name": "", "arguments": "{}"}], "input[1].name"),
            ([USER, {"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}], "input[1].arguments"),
            ([USER, {"type": "function_call_output", "call_id": "c", "output": "x"}], "input[1].call_id"),
            ([USER, {"type": "item_reference", "id": "msg_1"}], "input[1].id"),
            ([USER, {"id": "msg_1"}], "input[1].id"),
            ([{"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}], "input[0].encrypted_content"),
            ([{"type": "reasoning", "summary": [{"type": "x", "text": "y"}]}], "input[0].summary[0].type"),
        ],
    )
    def test_an_input_that_is_none_is_refused_with_its_place(self, api, items, param):
        assert api.error(400, input=items)["param"] == param

    def test_malformed_arguments_come_back_in_the_history(self, api, tool):
        api.engine.say("ok")
        call = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": Os'}
        api.create(input=[USER, call, {"type": "function_call_output", "call_id": "c1", "output": "?"}], tools=[tool])
        assert "Os" in api.engine.prompt


class TestTools:
    def test_a_tool_is_strict_where_it_can_be(self, api, tool):
        del tool["strict"]
        api.engine.say(CALL)
        assert api.both(tools=[tool])["tools"][0]["strict"] is True
        assert None not in api.engine.constraints

    def test_strictness_that_nobody_asked_for_gives_way_to_what_is_possible(self, api, tool):
        del tool["strict"]
        tool["parameters"]["properties"]["days"] = DAYS
        api.engine.say(CALL)
        response = api.both(tools=[tool])
        assert response["tools"][0]["strict"] is False
        (left_out,) = response["toolglot"]["relaxed"]
        assert (left_out["tool"], left_out["path"]) == ("get_weather", "/properties/days/uniqueItems")
        assert None not in api.engine.constraints
        api.engine.reset()
        api.engine.say(CALL.replace("city", "town"))
        assert api.post(tools=[tool]).status_code == 500  # the script breaks the grammar that there still is
        assert api.error(400, tools=[{**tool, "strict": True}])["param"] == "tools[0].parameters"

    def test_it_gives_way_where_the_whole_is_too_much_for_a_grammar(self, api, tool, monkeypatch):
        monkeypatch.setattr("toolglot.formats.ebnf.MAX_RULES", 2)
        tool["parameters"]["properties"]["street"] = {"type": "string", "maxLength": 77}
        api.engine.say(CALL)
        assert api.error(400, tools=[{**tool, "strict": True}])["param"] == "tools[0].parameters"
        del tool["strict"]
        response = api.both(tools=[tool])
        assert (output_kinds(response), response["tools"][0]["strict"]) == (["function_call"], False)
        assert response["toolglot"]["relaxed"][0]["tool"] == "get_weather"

    def test_it_gives_way_where_no_grammar_can_be_made(self, api, tool, monkeypatch):
        def refuse(tag):
            raise GrammarError("it is too large", param="tools")

        monkeypatch.setattr(api.engine.compiler, "compile", refuse)
        api.engine.say(CALL)
        assert api.error(400, tools=[{**tool, "strict": True}])["param"] == "tools"
        free = {**tool, "name": "other"}
        response = api.both(tools=[{**tool, "strict": None}, free])
        assert [one["strict"] for one in response["tools"]] == [False, False]
        (left_out,) = response["toolglot"]["relaxed"]
        assert (left_out["tool"], left_out["reason"]) == ("get_weather", "it is too large")
        assert "strict" not in response["toolglot"]
        assert api.error(400, tools=[{**tool, "strict": None}], tool_choice="required")["param"] == "tools"

    def test_a_tool_that_is_not_strict_is_free(self, api, tool):
        api.engine.say(CALL)
        api.create(tools=[tool])
        assert api.engine.constraints == [None]

    @pytest.mark.parametrize("choice", ["required", named("get_weather"), allowed("get_weather", mode="required")])
    def test_a_call_can_be_demanded(self, api, tool, choice):
        api.engine.say(CALL)
        response = api.both(tools=[tool], tool_choice=choice)
        assert (output_kinds(response), response["tool_choice"]) == (["function_call"], choice)
        assert None not in api.engine.constraints

    def test_only_allowed_tools_are_called(self, api, tool):
        other = {**tool, "name": "get_time"}
        api.engine.say(CALL)
        assert output_kinds(api.both(tools=[tool, other], tool_choice=allowed("get_weather"))) == ["function_call"]
        assert "get_time" in api.engine.prompt
        api.post(tools=[tool, other], tool_choice=allowed("get_time"))
        assert "the grammar refuses" in api.post(tools=[tool, other], tool_choice=allowed("get_time")).text

    def test_none_gives_no_call(self, api, tool):
        api.engine.say(CALL, spelled=True)
        assert output_kinds(api.both(tools=[tool], tool_choice="none")) == ["message"]

    def test_several_calls_where_one_was_asked_for_are_noted(self, api, tool):
        api.engine.say(CALL + "\n" + CALL)
        response = api.both(tools=[tool], parallel_tool_calls=False)
        assert output_kinds(response) == ["function_call"] * 2
        assert response["toolglot"]["parallel_tool_calls"] == "not_enforced"

    @pytest.mark.parametrize(
        ("change", "param"),
        [
            ({"type": "web_search"}, "tools[0].type"),
            ({"type": "custom"}, "tools[0].type"),
            ({"name": None}, "tools[0].name"),
            ({"name": "a b"}, "tools[0].name"),
            ({"parameters": {"type": "array"}}, "tools[0].parameters.type"),
            ({"parameters": {"$ref": "http://x/y"}, "strict": True}, "tools[0].parameters"),
            ({"parameters": []}, "tools[0].parameters"),
            ({"parameters": {"type": "object", "properties": 7}, "strict": True}, "tools[0].parameters"),
        ],
    )
    def test_a_tool_that_is_none_is_refused_with_its_place(self, api, tool, change, param):
        api.engine.say("ok")
        assert api.error(400, tools=[{**tool, **change}])["param"] == param

    def test_two_tools_of_one_name_are_refused(self, api, tool):
        assert api.error(400, tools=[tool, tool])["param"] == "tools[1].name"

    @pytest.mark.parametrize(
        ("choice", "param"),
        [
            ("foo", "tool_choice"),
            (["auto"], "tool_choice"),
            (named("other"), "tool_choice"),
            ({"type": "function"}, "tool_choice.name"),
            ({"type": "function", "function": {"name": "get_weather"}}, "tool_choice.name"),
            ({"type": "web_search_preview"}, "tool_choice.type"),
            ({"type": "custom", "name": "x"}, "tool_choice.type"),
            (allowed(), "tool_choice.tools"),
            (allowed("get_weather", "other"), "tool_choice.tools[1].name"),
            (allowed("get_weather", mode="maybe"), "tool_choice.mode"),
            ({**allowed(), "tools": [{"type": "mcp"}]}, "tool_choice.tools[0]"),
        ],
    )
    def test_a_choice_that_is_none_is_refused_with_its_place(self, api, tool, choice, param):
        assert api.error(400, tools=[tool], tool_choice=choice)["param"] == param

    def test_a_server_that_reads_no_calls_says_so(self, api_with, tool):
        assert "--tool-call-parser" in api_with(parser=None).error(400, tools=[tool])["message"]

    def test_a_demand_needs_tools(self, api):
        assert api.error(400, tool_choice="required")["param"] == "tool_choice"


class TestFormat:
    def test_text_can_be_any_object(self, api):
        api.engine.say('{"a": 1}')
        assert api.both(text={"format": {"type": "json_object"}})["output"][0]["content"][0]["text"] == '{"a": 1}'
        assert None not in api.engine.constraints

    def test_text_can_follow_a_schema(self, api):
        spec = {"type": "json_schema", "name": "number", "schema": SCHEMA, "strict": True}
        api.engine.say('{"n": 1}')
        assert api.both(text={"format": spec})["text"]["format"] == spec
        api.engine.scripts = []
        api.engine.say('{"m": 1}')
        assert "the grammar refuses" in api.post(text={"format": spec}).text

    @pytest.mark.parametrize(
        ("spec", "param"),
        [
            ({"type": "json_schema", "schema": SCHEMA}, "text.format.name"),
            ({"type": "json_schema", "name": "n"}, "text.format.schema"),
            ({"type": "json_schema", "name": "n", "schema": {"type": 7}}, "text.format.schema"),
            ({"type": "xml"}, "text.format.type"),
        ],
    )
    def test_a_format_that_is_none_is_refused_with_its_place(self, api, spec, param):
        error = api.error(400, text={"format": spec})
        assert error["param"] == param
        assert "response_format" not in error["message"]

    def test_a_strict_schema_that_cannot_be_enforced_is_refused(self, api):
        spec = {"type": "json_schema", "name": "n", "schema": DAYS, "strict": True}
        assert api.error(400, text={"format": spec})["param"] == "text.format.schema"
        api.engine.say("[1, 2]")
        notes = api.both(text={"format": {**spec, "strict": False}})["toolglot"]
        assert notes["relaxed"][0]["response_format"] == "n"


class TestFields:
    @pytest.mark.parametrize(
        ("fields", "param"),
        [
            ({"background": True}, "background"),
            ({"conversation": "conv_1"}, "conversation"),
            ({"prompt": {"id": "p"}}, "prompt"),
            ({"moderation": {"model": "m"}}, "moderation"),
            ({"context_management": [{"type": "compaction"}]}, "context_management"),
            ({"messages": [USER]}, "messages"),
            ({"max_tokens": 5}, "max_tokens"),
            ({"stop": ["x"]}, "stop"),
            ({"top_logprobs": 3}, "top_logprobs"),
            ({"response_format": {"type": "json_object"}}, "response_format"),
            ({"include": ["message.output_text.logprobs"], "top_logprobs": 21}, "top_logprobs"),
            ({"include": ["reasoning.encrypted_content", "x"]}, "include[1]"),
            ({"max_output_tokens": 0}, "max_output_tokens"),
            ({"max_output_tokens": 10**6}, "max_output_tokens"),
            ({"temperature": 3}, "temperature"),
            ({"truncation": "middle"}, "truncation"),
            ({"metadata": {"a": 1}}, "metadata"),
            ({"metadata": {"a": "x" * 513}}, "metadata"),
            ({"metadata": {str(n): "x" for n in range(17)}}, "metadata"),
            ({"text": {"verbosity": "terse"}}, "text.verbosity"),
            ({"reasoning": {"summary": "long"}}, "reasoning.summary"),
            ({"previous_response_id": "resp_none"}, "previous_response_id"),
            ({"tools": "all"}, "tools"),
        ],
    )
    def test_what_is_not_served_is_refused_with_its_place(self, api, fields, param):
        assert api.error(400, **fields)["param"].startswith(param)

    def test_no_value_of_any_field_is_the_server_s_fault(self, api, tool):
        api.engine.say("ok")
        odd = [
            None,
            True,
            0,
            -1,
            10**30,
            1e300,
            "",
            "x",
            "\ud800",
            [],
            [None],
            [[]],
            {},
            {"type": None},
            {"type": []},
            [{}],
        ]
        for field in {*ResponsesRequest.__struct_fields__, *HARMLESS_ONLY, "x"} - {"stream"}:
            for value in odd:
                answer = api.post(**{"tools": [tool], field: value})
                assert answer.status_code in (200, 400, 404), (field, value, answer.text)

    @pytest.mark.parametrize(
        "kind", ["message", "function_call", "function_call_output", "reasoning", "item_reference"]
    )
    def test_no_value_in_any_item_is_the_server_s_fault(self, api, kind):
        api.engine.say("ok")
        item = {"type": kind, "id": "x", "role": "user", "content": "x", "call_id": "c", "name": "f", "arguments": "{}",
                "output": "x", "summary": [], "status": "completed", "encrypted_content": None}  # fmt: skip
        odd = [None, True, 0, 10**30, "", "\ud800", "é", [], [None], {}, [{}], [{"type": []}], [{"type": "input_text"}]]
        for field in item:
            for value in odd:
                answer = api.post(input=[{**item, field: value}, USER])
                assert answer.status_code in (200, 400), (field, value, answer.text)

    def test_the_options_of_a_stream_go_with_a_stream(self, api):
        api.engine.say("ok")
        answer = api.post(stream_options={"include_obfuscation": False})
        assert answer.json()["error"]["param"] == "stream_options"
        assert api.events(stream_options={"include_obfuscation": False})
        answer = api.post(stream=True, stream_options={"include_obfuscation": True})
        assert answer.json()["error"]["param"] == "stream_options.include_obfuscation"

    @pytest.mark.parametrize(
        "fields",
        [
            {"background": False, "conversation": None, "stop": [], "top_logprobs": 0, "n": 1},
            {"service_tier": "auto", "prompt_cache_retention": "24h", "context_management": None},
            {"include": ["file_search_call.results"], "text": {"verbosity": "medium"}, "tools": None},
            {"text": {"verbosity": "low", "format": None}},
            {"reasoning": None, "text": None, "metadata": None, "stream": None, "store": None, "tool_choice": None},
        ],
    )
    def test_what_changes_nothing_is_accepted(self, api, fields):
        api.engine.say("ok")
        assert api.create(**fields)["status"] == "completed"

    def test_a_model_that_is_not_served_is_a_404(self, api):
        assert api.error(404, model="other")["code"] == "model_not_found"

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model": "scripted", "input": "\xff"}', b"[" * 1000])
    def test_a_body_that_is_none_is_refused(self, api, body):
        assert api.http.post("/v1/responses", content=body).status_code == 400

    def test_more_sampling_can_be_set(self, api):
        api.engine.say("ok")
        api.create(top_k=5, min_p=0.1, seed=7, chat_template_kwargs={"enable_thinking": False})
        sampling = api.engine.samplings[-1]
        assert (sampling.top_k, sampling.min_p, sampling.seed) == (5, 0.1, 7)
        assert api.engine.prompt.endswith("<think>\n\n</think>\n\n")


class TestReasoning:
    def test_reasoning_can_be_sent_back_by_clients_that_keep_it_sealed(self, api, tool):
        api.engine.say(f"<think>\nHm æ\n</think>\n\n{CALL}")
        include = ["reasoning.encrypted_content"]
        reasoning, call = api.both(include=include, store=False, tools=[tool])["output"]
        assert reasoning["content"][0]["text"] == "Hm æ"
        sealed = {"type": "reasoning", "summary": [], "encrypted_content": reasoning["encrypted_content"]}
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}
        api.create(input=[USER, sealed, call, result], tools=[tool])
        assert "encrypted_content" not in api.create(tools=[tool])["output"][0]

    def test_effort_none_switches_it_off(self, api):
        api.engine.say("ok")
        api.create(reasoning={"effort": "none"})
        assert api.engine.prompt.endswith("<think>\n\n</think>\n\n")


class TestTruncation:
    def messages(self, count):
        return [{"role": ("user", "assistant")[n % 2], "content": f"{n}: " + "x" * 500} for n in range(count)]

    def test_what_is_too_long_is_refused(self, api):
        for fields in ({}, {"truncation": "disabled"}):
            error = api.error(400, input=self.messages(41), **fields)
            assert (error["param"], error["code"]) == ("input", "context_length_exceeded")

    def test_auto_drops_the_oldest_and_no_more_than_needed(self, api):
        api.engine.say("ok")
        response = api.both(input=self.messages(41), truncation="auto", instructions="Be kind.")
        assert response["truncation"] == "auto"
        prompt = api.engine.prompt
        assert prompt.startswith("<|im_start|>system\nBe kind.")
        kept = [n for n in range(41) if f"\n{n}: " in prompt]
        assert kept == list(range(kept[0], 41))
        assert 6000 - 600 < len(api.engine.prompts[-1]) < 6000

    def test_auto_makes_room_for_the_reply(self, api):
        api.engine.say("ok")
        api.create(input=self.messages(41), truncation="auto", max_output_tokens=3000)
        assert len(api.engine.prompts[-1]) <= 3000

    def test_a_result_never_stays_without_its_call(self, api, tool):
        rounds = []
        for n in range(12):
            call = {"type": "function_call", "call_id": f"c{n}", "name": "get_weather", "arguments": '{"city": "x"}'}
            output = {"type": "function_call_output", "call_id": f"c{n}", "output": f"result {n} " + "x" * 700}
            rounds += [call, output]
        api.engine.say("ok")
        api.create(input=[USER, *rounds], tools=[tool], truncation="auto")
        assert api.engine.prompt.count("<tool_call>") == api.engine.prompt.count("<|im_start|>tool") > 3

    def test_auto_shortens_what_is_too_long_to_be_counted_too(self, api):
        api.engine.say("ok")
        api.create(input=self.messages(135), truncation="auto")
        assert 6000 - 600 < len(api.engine.prompts[-1]) < 6000
        error = api.error(400, input=self.messages(135))
        assert "at least" in error["message"]
        assert (error["param"], error["code"]) == ("input", "context_length_exceeded")

    def test_one_message_that_is_too_long_is_refused(self, api):
        assert api.error(400, input="x" * 7000, truncation="auto")["code"] == "context_length_exceeded"
