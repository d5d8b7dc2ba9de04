"""``tool_choice`` of type ``allowed_tools``: the prompt keeps all tools, and the reply may call some of them."""

from __future__ import annotations

import pytest

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
OTHER = '<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call>'


@pytest.fixture
def tools(weather):
    return [{"type": "function", "function": {"name": "get_time"}}, weather]


def allow(mode, *names):
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_an_allowed_tool_is_called_and_another_cannot_be(served, tools, mode):
    served.engine.say(CALL)
    reply = served.both(tools=tools, tool_choice=allow(mode, "get_weather"))
    assert reply.calls == [("get_weather", '{"city": "Oslo"}')]
    assert reply.finish == "tool_calls"
    assert "get_time" in served.engine.prompt
    served.engine.scripts = []
    served.engine.say(OTHER)
    assert "the grammar refuses" in served.post(tools=tools, tool_choice=allow(mode, "get_weather")).text


def test_the_mode_says_whether_a_call_is_demanded(served, tools):
    served.engine.say("No.")
    assert served.both(tools=tools, tool_choice=allow("auto", "get_weather")).content == "No."
    assert "the grammar refuses" in served.post(tools=tools, tool_choice=allow("required", "get_weather")).text


def test_all_may_be_allowed(served, tools):
    served.engine.say(OTHER)
    reply = served.both(tools=tools, tool_choice=allow("required", "get_weather", "get_time"))
    assert reply.calls == [("get_time", "{}")]


def test_the_official_client_sends_it(served, tools):
    served.engine.say(CALL)
    completion = served.chat(tools=tools, tool_choice=allow("required", "get_weather"))
    assert completion.choices[0].message.tool_calls[0].function.name == "get_weather"


def test_a_schema_at_fault_is_named_by_its_place_among_all_tools(served, tools, weather):
    weather["function"] |= {"strict": True}
    weather["function"]["parameters"]["properties"]["city"]["pattern"] = "(("
    error = served.error(400, tools=tools, tool_choice=allow("auto", "get_weather"))
    assert error["param"] == "tools[1].function.parameters"


def test_a_schema_that_is_not_allowed_refuses_nothing(served, tools, weather):
    weather["function"] |= {"strict": True}
    weather["function"]["parameters"]["properties"]["city"]["pattern"] = "(("
    served.engine.say(OTHER)
    assert served.both(tools=tools, tool_choice=allow("required", "get_time")).calls == [("get_time", "{}")]
