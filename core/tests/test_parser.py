"""The hooks joined with core's defaults, wrappers, and plugins that fail."""

from __future__ import annotations

import logging

import pluggy
import pytest
from msgspec.structs import replace

from toolglot import (
    ArgumentsDelta,
    Call,
    CallEnd,
    CallStart,
    ContentDelta,
    Message,
    Parser,
    PluginError,
    Request,
    Tool,
    hookimpl,
    load_parser,
)

CALL = Call("call_1", "f", '{"a": 1}')


class Whole:
    """Reads `name!` as a call, when it has everything."""

    @hookimpl
    def extract_tool_calls(self, output):
        return Message(content=output.text.removesuffix("f!"), tool_calls=(CALL,) if output.text.endswith("f!") else ())


class Pieces:
    """Says every piece in upper case, and counts them in its slot."""

    @hookimpl
    def extract_tool_calls_streaming(self, delta, state):
        seen = state.of(self, list)
        seen.append(delta.text)
        return [ContentDelta(delta.text.upper() + str(len(seen)))] if delta.text else []


class Failing:
    """Fails at the second piece, inside a call."""

    @hookimpl
    def extract_tool_calls_streaming(self, delta, state):
        seen = state.of(self, list)
        seen.append(delta)
        if len(seen) == 2:
            raise KeyError("a bug")
        return [CallStart(0, "call_1", "f"), ArgumentsDelta(0, "{")]


def test_a_whole_text_hook_streams_at_the_end():
    stream = Parser("whole", Whole()).stream()

    assert stream.feed("text ") == []
    assert stream.feed("f!") == []
    events = stream.finish()

    assert events == [
        ContentDelta("text "),
        CallStart(0, "call_1", "f"),
        ArgumentsDelta(0, '{"a": 1}'),
        CallEnd(0, "ok"),
    ]
    assert stream.message == Message(content="text ", tool_calls=(CALL,))


def test_a_streaming_hook_reads_whole_texts():
    assert Parser("pieces", Pieces()).parse("abc").content == "ABC1"


def test_each_stream_has_its_own_state():
    parser = Parser("pieces", Pieces())
    first, second = parser.stream(), parser.stream()

    assert first.feed("a") == [ContentDelta("A1")]
    assert first.feed("b") == [ContentDelta("B2")]
    assert second.feed("c") == [ContentDelta("C1")]


def test_a_plugin_that_says_not_mine_leaves_content():
    class NotMine:
        @hookimpl
        def extract_tool_calls_streaming(self):
            return None

    parser = Parser("not_mine", NotMine())
    stream = parser.stream()
    stream.feed("te")
    stream.feed("xt")
    stream.finish()

    assert stream.message.content == "text"
    assert parser.parse("text").content == "text"


def test_a_failing_hook_costs_no_text(caplog):
    parser = Parser("failing", Failing())
    stream = parser.stream()
    with caplog.at_level(logging.CRITICAL, logger="toolglot.parser"):
        stream.feed("one")
        assert stream.feed("two") == [CallEnd(0, "malformed"), ContentDelta("two", unparsed=True)]
        stream.feed("three")
        stream.finish()

    assert stream.message.content == "twothree"
    assert stream.message.unparsed
    assert stream.message.tool_calls[0].outcome == "malformed"


def test_what_a_failing_hook_held_back_is_delivered(caplog):
    class Holding:
        @hookimpl
        def extract_tool_calls_streaming(self, delta):
            if delta.text == "boom":
                raise KeyError("a bug")
            return [ContentDelta(delta.text)] if delta.text == "said" else []

    stream = Parser("holding", Holding()).stream()
    for piece in ("lost?", "said", "held", " back ", "boom", " after"):
        stream.feed(piece)
    stream.finish()

    assert stream.message.content == "saidheld back boom after"
    assert "parser 'holding' failed" in caplog.text


def test_a_failing_hook_is_logged_once_with_its_name(caplog):
    stream = Parser("failing", Failing()).stream()
    for piece in ("one", "two", "three"):
        stream.feed(piece)

    assert [record.getMessage() for record in caplog.records] == [
        "parser 'failing' failed; the rest of the output is delivered as content"
    ]


def test_a_failing_whole_text_hook_delivers_the_text(caplog):
    class Broken:
        @hookimpl
        def extract_tool_calls(self):
            raise ZeroDivisionError

    message = Parser("broken", Broken()).parse("text")

    assert (message.content, message.unparsed) == ("text", True)
    assert "parser 'broken' failed" in caplog.text


def test_a_wrapper_sees_every_event():
    class Redact:
        @hookimpl(wrapper=True)
        def extract_tool_calls_streaming(self):
            events = yield
            return [ContentDelta(event.text.replace("B", "*")) for event in events]

    parser = Parser("pieces", Pieces(), wrappers=[Redact()])

    assert parser.stream().feed("abc") == [ContentDelta("A*C1")]


def test_adjustments_chain_through_wrappers():
    class Adjusts:
        @hookimpl
        def adjust_request(self, request):
            return replace(request, earlier_calls=1)

        @hookimpl
        def extract_tool_calls(self):
            return Message()

    class More:
        @hookimpl(wrapper=True)
        def adjust_request(self):
            request = yield
            return replace(request, earlier_calls=request.earlier_calls + 1)

    assert Parser("adjusts", Adjusts(), wrappers=[More()]).adjust(Request()).earlier_calls == 2


def test_a_request_stays_as_it_is_without_the_hook():
    request = Request(tools=(Tool("f"),))

    assert Parser("pieces", Pieces()).adjust(request) is request
    assert Parser("pieces", Pieces()).constrain(request) is None


def test_an_unwrapped_hook_is_called_without_pluggy(monkeypatch):
    parser = Parser("pieces", Pieces())
    stream = parser.stream()
    with monkeypatch.context() as patch:  # pytest itself needs pluggy again after this
        patch.setattr(pluggy.HookCaller, "__call__", None)
        events = stream.feed("a")

    assert events == [ContentDelta("A1")]


def test_a_finished_stream_takes_no_more():
    stream = load_parser("hermes").stream()
    stream.finish()

    with pytest.raises(ValueError, match="the stream is finished"):
        stream.feed("more")


def test_a_plugin_of_hooks_cannot_render():
    with pytest.raises(PluginError, match="'pieces' cannot render"):
        Parser("pieces", Pieces()).render([CALL])


def test_the_reasoning_channel_can_be_another_parsers_or_none():
    text = "<think>\nhm\n</think>\n\nyes"

    assert load_parser("hermes", reasoning="qwen3_json").parse(text).reasoning == "hm"
    assert load_parser("hermes", reasoning="none").parse(text).content == text
    with pytest.raises(PluginError, match="unknown reasoning parser 'nothing'"):
        load_parser("hermes", reasoning="nothing")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_cut_calls_can_be_left_out(size):
    done = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    text = f"Hi {done}\n{done[:40]}"
    parser = load_parser("hermes")
    tools = [Tool("f")]

    stream = parser.stream(tools=tools, incomplete_calls="drop")
    for at in range(0, len(text), size):
        stream.feed(text[at : at + size])
    stream.finish("length")
    whole = parser.parse(text, tools=tools, incomplete_calls="drop", finish_reason="length")

    for message in (stream.message, whole):
        assert message.content == "Hi"
        assert [call.arguments for call in message.tool_calls] == ['{"a": 1}']
    assert len(parser.parse(text, tools=tools, finish_reason="length").tool_calls) == 2
