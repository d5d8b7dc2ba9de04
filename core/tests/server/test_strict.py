"""What a grammar holds calls to, and how a reply says what it was not held to."""

from __future__ import annotations

import json

import pytest

import toolglot
from toolglot import Parser
from toolglot.errors import GrammarError
from toolglot.formats import Calls, Frame, JsonCall, WireFormat, WireFormatParser
from toolglot.hookspecs import hookimpl
from toolglot.requests import Named, Request, Tool
from toolglot.schemas import normalise
from toolglot.server.strict import hold, left_out, recommended_level
from toolglot.structural_tag import AnyText, StructuralTag

DAYS = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
"""No grammar sees to it that integers differ."""
OUTSIDE = {"$ref": "http://127.0.0.1:1/x"}
IMPOSSIBLE = {"type": "object", "properties": {"a": False}, "required": ["a"]}
NOTE = {"tool": "plan", "path": "/properties/days/uniqueItems", "keyword": "uniqueItems"}


def function(name, parameters, **fields):
    return {"type": "function", "function": {"name": name, "parameters": parameters, **fields}}


def plan(**fields):
    return function("plan", {"type": "object", "properties": {"days": DAYS}, "required": ["days"]}, **fields)


def call(name, arguments):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'


def without_reasons(extension):
    return [{key: text for key, text in one.items() if key != "reason"} for one in extension["relaxed"]]


def refuses(served, text, **fields):
    served.engine.scripts = []
    served.engine.say(text)
    return "the grammar refuses" in served.post(**fields).text


@pytest.fixture(params=["function", "parameter"])
def leveled(serving, request):
    """A server with a level above auto."""
    return serving(strict_level=request.param)


class TestStrictTools:
    def test_one_that_cannot_be_enforced_is_refused_with_tool_path_and_keyword(self, served, weather):
        error = served.error(400, tools=[weather, plan(strict=True)])
        assert (error["param"], error["code"]) == ("tools[1].function.parameters", "invalid_schema")
        assert "'plan'" in error["message"]
        assert "/properties/days/uniqueItems" in error["message"]
        assert served.engine.prompts == []

    def test_it_is_not_refused_where_another_tool_is_named(self, served, weather):
        choice = {"type": "function", "function": {"name": "get_weather"}}
        served.engine.say(call("get_weather", {"city": "Oslo"}))
        assert served.post(tools=[weather, plan(strict=True)], tool_choice=choice).status_code == 200

    def test_strict_and_other_tools_mix(self, served, weather):
        weather["function"]["strict"] = True
        served.engine.say(call("plan", {"days": "soon"}))
        assert served.both(tools=[weather, plan()]).extension["calls"][0]["outcome"] == "schema_violation"
        assert refuses(served, call("get_weather", {"town": "Oslo"}), tools=[weather, plan()])


class TestDemandedCalls:
    def test_what_can_be_enforced_is_and_the_rest_is_reported(self, served):
        served.engine.say(call("plan", {"days": [1, 2]}))
        reply = served.both(tools=[plan()], tool_choice="required")
        assert reply.calls == [("plan", '{"days": [1, 2]}')]
        assert without_reasons(reply.extension) == [NOTE]
        assert refuses(served, call("plan", {"days": ["Monday"]}), tools=[plan()], tool_choice="required")

    def test_a_relaxed_keyword_is_still_checked_in_the_finished_call(self, served):
        served.engine.say(call("plan", {"days": [1, 1]}))
        assert (
            served.both(tools=[plan()], tool_choice="required").extension["calls"][0]["outcome"] == "schema_violation"
        )

    def test_one_bad_tool_does_not_free_the_others(self, served, weather):
        tools = [function("bad", IMPOSSIBLE), weather]
        served.engine.say(call("get_weather", {"city": "Oslo"}))
        reply = served.both(tools=tools, tool_choice="required")
        assert without_reasons(reply.extension) == [{"tool": "bad", "path": "", "keyword": "parameters"}]
        assert refuses(served, call("get_weather", {"town": "Oslo"}), tools=tools, tool_choice="required")
        assert refuses(served, "No.", tools=tools, tool_choice="required")

    @pytest.mark.parametrize(
        ("strict", "choice"), [(True, "required"), (None, {"type": "function", "function": {"name": "bad"}})]
    )
    def test_a_bad_tool_that_must_be_enforced_is_refused(self, served, weather, strict, choice):
        error = served.error(400, tools=[weather, function("bad", IMPOSSIBLE, strict=strict)], tool_choice=choice)
        assert (error["param"], error["code"]) == ("tools[1].function.parameters", "invalid_schema")
        assert "'bad'" in error["message"]


class TestReferencesOutside:
    """Nothing is fetched, so what such a reference says is not enforced."""

    @pytest.mark.parametrize("name", ["city", "const", "enum", "default", "examples"])
    def test_a_strict_tool_is_refused(self, served, name):
        error = served.error(400, tools=[function("f", {"properties": {name: OUTSIDE}}, strict=True)])
        assert (error["param"], error["code"]) == ("tools[0].function.parameters", "invalid_schema")
        assert f"/properties/{name}/$ref cannot be enforced: 'http://127.0.0.1:1/x' is outside" in error["message"]

    def test_the_rest_of_another_holds_and_the_reply_says_so(self, served):
        tool = function("f", {"properties": {"a": OUTSIDE, "b": {"type": "integer"}}})
        served.engine.say(call("f", {"a": [], "b": 1}))
        reply = served.both(tools=[tool], tool_choice="required")
        assert reply.extension["calls"] == [{"outcome": "ok", "repairs": [], "validated": False}]
        assert without_reasons(reply.extension) == [{"tool": "f", "path": "/properties/a/$ref", "keyword": "$ref"}]
        assert refuses(served, call("f", {"a": [], "b": "1"}), tools=[tool], tool_choice="required")

    def test_where_nothing_is_enforced_they_are_taken(self, served):
        served.engine.say(call("f", {"a": [1]}))
        reply = served.both(tools=[function("f", {"properties": {"a": OUTSIDE}})])
        assert reply.extension == {"calls": [{"outcome": "ok", "repairs": [], "validated": False}]}

    def test_a_part_may_be_referred_to_by_its_full_name(self, served):
        parts = {"count": {"$id": "http://example.org/count", "type": "integer"}}
        tool = function("f", {"properties": {"a": {"$ref": "http://example.org/count"}}, "$defs": parts}, strict=True)
        served.engine.say(call("f", {"a": 1}))
        assert served.both(tools=[tool]).calls == [("f", '{"a": 1}')]
        assert refuses(served, call("f", {"a": "1"}), tools=[tool])

    @pytest.mark.parametrize("field", ["const", "default"])
    def test_what_looks_like_one_in_a_value_is_none(self, served, field):
        served.engine.say("Hi")
        tool = function("f", {"type": "object", "properties": {"a": {field: OUTSIDE}}}, strict=True)
        assert served.both(tools=[tool]).content == "Hi"


class TestLevels:
    def test_function_holds_names_and_leaves_arguments(self, serving, weather):
        served = serving(strict_level="function")
        served.engine.say("Hm. " + call("get_weather", {"town": "Oslo"}))
        reply = served.both(tools=[weather])
        assert reply.extension == {"calls": [{"outcome": "schema_violation", "repairs": []}]}
        assert refuses(served, call("get_time", {}), tools=[weather])

    def test_parameter_holds_arguments_of_all_tools(self, serving, weather):
        served = serving(strict_level="parameter")
        weather["function"]["strict"] = False
        assert refuses(served, call("get_weather", {"town": "Oslo"}), tools=[weather])
        served.engine.scripts = []
        served.engine.say(call("get_weather", {"city": "Oslo"}))
        assert served.both(tools=[weather]).extension["calls"] == [{"outcome": "ok", "repairs": []}]

    def test_parameter_relaxes_what_cannot_be_enforced_and_says_so_even_without_a_call(self, serving):
        served = serving(strict_level="parameter")
        served.engine.say("No plan today.")
        reply = served.both(tools=[plan()])
        assert reply.content == "No plan today."
        assert without_reasons(reply.extension) == [NOTE]
        assert reply.extension["calls"] == []

    def test_the_model_may_answer_without_a_call(self, leveled, weather):
        leveled.engine.say("<think>\nHm\n</think>\n\nIt rains.")
        reply = leveled.both(tools=[weather])
        assert (reply.content, reply.reasoning, reply.extension) == ("It rains.", "Hm", None)

    def test_none_makes_no_call(self, leveled, weather):
        assert refuses(leveled, call("get_weather", {"city": "Oslo"}), tools=[weather], tool_choice="none")

    def test_without_tools_nothing_is_constrained(self, leveled):
        leveled.engine.say("Hi")
        assert leveled.both().content == "Hi"
        assert leveled.engine.constraints == [None, None]

    def test_one_call_at_most_is_in_the_grammar(self, leveled, weather):
        two = call("get_weather", {"city": "Oslo"}) + "\n" + call("get_weather", {"city": "Bergen"})
        assert refuses(leveled, two, tools=[weather], parallel_tool_calls=False)
        assert not refuses(leveled, two, tools=[weather])

    def test_the_recommendation_of_the_format_counts_where_the_operator_sets_none(self):
        form = WireFormat((Calls(JsonCall(), Frame(("<call>",), ("</call>",))),), strict_level="function")
        assert recommended_level(Parser("mine", WireFormatParser(form))) == "function"
        assert recommended_level(toolglot.load_parser("hermes")) is None
        assert recommended_level(None) is None


class TestInterplay:
    """What a reply has besides calls works under a grammar."""

    @pytest.fixture
    def strict(self, weather):
        weather["function"]["strict"] = True
        return weather

    def test_the_token_limit_cuts_a_call(self, served, strict):
        served.engine.say(call("get_weather", {"city": "Oslo"}))
        reply = served.both(tools=[strict], max_tokens=50)
        assert (reply.finish, reply.extension["calls"][0]["outcome"]) == ("length", "truncated")

    def test_stop_strings_match_content_only(self, served, strict):
        served.engine.say(call("get_weather", {"city": "Oslo"}) + "\nDone. More")
        reply = served.both(tools=[strict], stop=["Oslo", "."])
        assert reply.calls == [("get_weather", '{"city": "Oslo"}')]
        assert (reply.content.strip(), reply.finish) == ("Done", "tool_calls")

    def test_the_seed_reaches_the_engine(self, served, strict):
        served.engine.say(call("get_weather", {"city": "Oslo"}))
        served.both(tools=[strict], tool_choice="required", seed=7)
        assert served.engine.samplings[-1].seed == 7
        assert served.engine.constraints[-1] is not None


class TestSwitchedOff:
    @pytest.fixture
    def off(self, serving):
        return serving(enforce_strict_tool_calling=False, strict_level="parameter")

    def test_nothing_is_constrained_and_the_reply_says_so(self, off, weather):
        weather["function"]["strict"] = True
        off.engine.say(call("get_weather", {"town": "Oslo"}))
        reply = off.both(tools=[weather])
        assert off.engine.constraints == [None, None]
        calls = [{"outcome": "schema_violation", "repairs": []}]
        assert reply.extension == {"calls": calls, "strict": "not_enforced"}

    def test_a_demanded_call_that_does_not_come_is_said(self, off, weather):
        off.engine.say("No.")
        reply = off.both(tools=[weather], tool_choice="required")
        assert (reply.content, reply.finish) == ("No.", "stop")
        assert reply.extension == {"calls": [], "tool_choice": "not_enforced", "strict": "not_enforced"}

    def test_a_call_of_another_tool_than_the_named_one_is_said(self, off, weather):
        off.engine.say(call("plan", {"days": [1]}))
        choice = {"type": "function", "function": {"name": "get_weather"}}
        assert off.both(tools=[weather, plan()], tool_choice=choice).extension["tool_choice"] == "not_enforced"

    def test_none_has_no_grammar_either(self, off, weather):
        off.engine.say("Hi")
        reply = off.both(tools=[weather], tool_choice="none")
        assert (reply.content, reply.extension) == ("Hi", None)
        assert off.engine.constraints == [None, None]

    def test_what_nobody_enforces_is_not_refused(self, off):
        off.engine.say(call("plan", {"days": [1, 1]}))
        reply = off.both(tools=[plan(strict=True)])
        assert reply.extension["calls"][0]["outcome"] == "schema_violation"


class TestAfterGeneration:
    def test_types_of_other_languages_are_checked(self, served):
        parameters = {"type": "dict", "properties": {"x": {"type": "float"}, "y": {"type": "any"}}, "required": ["x"]}
        for arguments, outcome in (({"x": 1.5, "y": []}, "ok"), ({"x": "1.5"}, "schema_violation")):
            served.engine.scripts = []
            served.engine.say(call("f", arguments))
            reply = served.both(tools=[function("f", parameters)])
            assert reply.extension == {"calls": [{"outcome": outcome, "repairs": []}]}

    def test_a_call_that_could_not_be_checked_says_so(self, served):
        served.engine.say(call("f", {"a": 1}))
        reply = served.both(tools=[function("f", {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}})])
        assert reply.extension == {"calls": [{"outcome": "ok", "repairs": [], "validated": False}]}


class TestPropertyOrder:
    def test_a_free_order_is_taken_and_reported(self, serving):
        served = serving(any_property_order=True, strict_level="parameter")
        tool = function("f", {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}})
        served.engine.say(call("f", {"b": 1, "a": 2}))
        reply = served.both(tools=[tool])
        assert reply.calls == [("f", '{"b": 1, "a": 2}')]
        reason = "property order free: presence and uniqueness not enforced"
        assert reply.extension["relaxed"] == [
            {"tool": "f", "path": "/properties", "keyword": "properties", "reason": reason}
        ]

    @pytest.mark.parametrize(
        ("schema", "path"),
        [
            ({"type": "object", "required": ["a", "b"]}, "/required"),
            ({"type": "object", "enum": [{"a": 1, "b": 2}]}, "/enum"),
            ({"properties": {"x": {"const": {"a": 1}}}}, "/properties/x/const"),
            ({"type": "object", "dependentRequired": {"a": ["b"]}}, "/dependentRequired"),
            ({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, "/oneOf/0/required"),
            ({"type": "object", "propertyNames": {"enum": ["a", "b"]}, "minProperties": 1}, "/minProperties"),
        ],
    )
    def test_whatever_is_said_of_members_as_a_whole_is_reported(self, schema, path):
        findings = normalise(schema, arguments=False).findings
        assert path in [found.path for found in left_out(schema, findings, free_order=True)]
        assert list(left_out(schema, findings, free_order=False)) == []

    def test_what_is_no_object_is_not(self):
        schema = {"properties": {"a": {"enum": ["{", "x"]}}}
        findings = normalise(schema).findings
        assert [found.path for found in left_out(schema, findings, free_order=True)] == ["/properties"]

    def test_strict_tools_keep_theirs(self, serving):
        served = serving(any_property_order=True)
        tool = function("f", {"type": "object", "properties": {"a": {}, "b": {}}}, strict=True)
        assert refuses(served, call("f", {"b": 1, "a": 2}), tools=[tool])
        assert not refuses(served, call("f", {"a": 1, "b": 2}), tools=[tool])


class Picky:
    """A format that cannot write some tools, as it says of the first of them."""

    @hookimpl
    def get_structural_tag(self, request):
        for number, tool in enumerate(request.tools):
            if "<" in (tool.parameters or {}).get("properties", {}):
                raise GrammarError("< cannot be written", param=f"tools[{number}].function.parameters")
            if "." in tool.name:
                raise GrammarError(f"{tool.name} cannot be written", param=f"tools[{number}].function.name")
        return StructuralTag(AnyText())


class TestToolsThatAFormatCannotWrite:
    PARSER = Parser("picky", Picky())

    def hold(self, *tools, **fields):
        request = Request(tools=tools, tool_choice="required", **fields)
        return hold(self.PARSER, request, None, enforce_calls=True)

    def test_they_are_left_out_and_reported(self):
        held = self.hold(Tool("a.b"), Tool("c"), Tool("d.e"))
        assert held.tag is not None
        assert [(one.tool, one.path, one.keyword) for one in held.relaxed] == [("a.b", "", "name"), ("d.e", "", "name")]
        assert len(held.request.tools) == 3, "the reader knows them all"

    @pytest.mark.parametrize("tools", [(Tool("a.b"), Tool("d.e", strict=True)), (Tool("a"), Tool("d.e", strict=True))])
    def test_a_strict_one_is_refused_under_its_own_number(self, tools):
        with pytest.raises(GrammarError, match=r"d\.e cannot be written") as caught:
            self.hold(*tools)
        assert caught.value.param == "tools[1].function.name"

    def test_a_parameter_that_cannot_be_written_makes_the_arguments_any_object(self):
        held = self.hold(Tool("a", parameters={"properties": {"<": {}}}))
        assert held.tag is not None
        assert [(one.tool, one.path, one.keyword) for one in held.relaxed] == [("a", "", "parameters")]

    def test_so_is_the_named_one_and_the_only_one(self):
        request = Request(tools=(Tool("a"), Tool("b.c")), tool_choice=Named("b.c"))
        with pytest.raises(GrammarError):
            hold(self.PARSER, request, None, enforce_calls=True)
        with pytest.raises(GrammarError):
            self.hold(Tool("a.b"), Tool("c.d"))
