"""Plugin files written for vLLM load as they are, and their parsers keep what toolglot promises of every parser."""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import toolglot
from toolglot import plugins
from toolglot.errors import DuplicateParserError, PluginError, PluginFileError
from toolglot.events import ArgumentsDelta, CallEnd, CallStart, ContentDelta, Event, ReasoningDelta
from toolglot.parser import Parser
from toolglot.requests import Named, Request, Tool
from toolglot.vllm_plugins import VllmParser, helpers
from toolglot.vllm_plugins.modules import standing_in
from toolglot.vllm_plugins.protocol import DeltaFunctionCall, DeltaMessage, DeltaToolCall, FunctionCall, ToolCall
from toolglot.vllm_plugins.tokens import TextTokenizer
from toolglot.vllm_plugins.tool_parser import ToolParser, ToolParserManager

FILES = Path(__file__).with_name("vllm_plugin_files")
PROPERTIES = {"a": {"type": "string"}, "b": {"type": "array"}}
TOOLS = [
    {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": PROPERTIES}}},
    {"type": "function", "function": {"name": "sub"}},
]
TAGGED = (
    'On <it>. <call>{"name": "add", "arguments": {"a": "é \\" {", "b": [1, 2]}}</call>\n'
    '<call>{"name": "sub", "arguments": {}}</call>'
)
NOTED = 'On <it>. <tool_call>add<|note|>a=é " {<|note|>b=[1, 2]</tool_call>\n<tool_call>sub</tool_call>'
OUTPUTS = {"tagged_json": TAGGED, "noted_fields": NOTED}
CALLS = [("add", {"a": 'é " {', "b": [1, 2]}, "ok"), ("sub", {}, "ok")]
TOKENS = {"<tool_call>": 7, "</tool_call>": 8, "<|note|>": 9}


@pytest.fixture(autouse=True)
def _own_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test loads or registers is gone after it."""
    monkeypatch.setattr(plugins, "_files", {})
    monkeypatch.setattr(ToolParserManager, "tool_parsers", {})
    monkeypatch.setattr(ToolParserManager, "lazy_parsers", {})


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], list[str]]:
    """Loads a plugin file with this code."""

    def run(code: str) -> list[str]:
        path = tmp_path / "written.py"
        path.write_text(textwrap.dedent(code))
        return plugins.load_file(path)

    return run


def calls(message: toolglot.Message) -> list[tuple[str, Any, str]]:
    return [(call.name, json.loads(call.arguments), call.outcome) for call in message.tool_calls]


def streamed(parser: Parser, text: str, size: int, **context: Any) -> toolglot.Message:
    stream = parser.stream(tools=TOOLS, **context)
    for start in range(0, len(text), size):
        stream.feed(text[start : start + size])
    stream.finish()
    return stream.message


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 7, 40, 1000])
def test_an_unmodified_file_reads_whole_and_streamed_outputs(name: str, size: int) -> None:
    plugins.load_file(FILES / f"{name}.py")
    parser = toolglot.load_parser(name)
    text = OUTPUTS[name]

    message = streamed(parser, text, size) if size else parser.parse(text, tools=TOOLS)

    assert message.content == "On <it>. "
    assert calls(message) == CALLS
    assert all(call.id.startswith("chatcmpl-tool-") for call in message.tool_calls)


def test_arguments_stream_as_the_file_sends_them() -> None:
    plugins.load_file(FILES / "tagged_json.py")
    stream = toolglot.load_parser("tagged_json").stream(tools=TOOLS)

    events = stream.feed(TAGGED[: TAGGED.index(' {", "b"')])

    assert [event for event in events if isinstance(event, CallStart)]
    sent = "".join(event.text for event in events if isinstance(event, ArgumentsDelta))
    assert sent == '{"a": "é \\"'


def test_a_file_that_goes_by_token_ids_gets_those_of_the_engine() -> None:
    plugins.load_file(FILES / "noted_fields.py")
    parser = toolglot.load_parser("noted_fields", tokenizer=TOKENS)
    stream = parser.stream(tools=TOOLS)
    pieces = [("Hm <tool_call> ", 1), ("is a tag. ", 2), ("<tool_call>", 7), ("sub", 3), ("</tool_call>", 8)]

    for text, number in pieces[2:]:
        stream.feed(text, [number])
    stream.finish()
    spelled = parser.stream(tools=TOOLS)
    for text, number in pieces[:2]:
        spelled.feed(text, [number])
    spelled.finish()

    assert calls(stream.message) == [("sub", {}, "ok")]
    assert spelled.message.content == "Hm <tool_call> is a tag. "
    assert spelled.message.tool_calls == ()


@pytest.mark.parametrize("tokenizer", [{"<tool_call>": 7}, object()])
def test_a_tokenizer_that_lacks_what_a_file_needs_is_refused_when_it_is_loaded(tokenizer: Any) -> None:
    plugins.load_file(FILES / "noted_fields.py")

    with pytest.raises(
        PluginFileError, match=r"noted_fields\.py: NotedFieldsToolParser cannot be used with this token"
    ):
        toolglot.load_parser("noted_fields", tokenizer=tokenizer)


@pytest.mark.parametrize("name", OUTPUTS)
def test_vllm_is_not_there_before_or_after(name: str) -> None:
    assert not [module for module in sys.modules if module.partition(".")[0] == "vllm"]

    plugins.load_file(FILES / f"{name}.py")
    streamed(toolglot.load_parser(name), OUTPUTS[name], 3)  # it imports names as it goes

    assert not [module for module in sys.modules if module.partition(".")[0] == "vllm"]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("vllm")


def test_stand_ins_stay_until_their_last_user_is_done() -> None:
    with standing_in():
        with standing_in():
            pass
        module: Any = importlib.import_module("vllm.tool_parsers.abstract_tool_parser")
    assert module.ToolParser is ToolParser
    assert "vllm" not in sys.modules


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("from vllm.tool_parsers import PythonicToolParser", "cannot import name 'PythonicToolParser'"),
        ("from vllm import LLM", "cannot import name 'LLM'"),
        ("from vllm.tool_parsers.hermes_tool_parser import Hermes2ProToolParser", r"'vllm\.tool_parsers\.hermes_tool"),
        ("import vllm.engine.arg_utils", r"'vllm\.engine'"),
    ],
)
def test_a_name_that_is_not_provided_is_said(load: Callable[[str], list[str]], line: str, named: str) -> None:
    with pytest.raises(
        PluginFileError, match=f"{named}.*; toolglot has only the names of vLLM that a tool parser needs"
    ):
        load(line)

    assert "vllm" not in sys.modules


def test_another_missing_package_is_not_blamed_on_vllm(load: Callable[[str], list[str]]) -> None:
    with pytest.raises(PluginFileError, match=r"No module named 'no_such_package'$"):
        load("from vllm.logger import init_logger\nimport no_such_package")


PARSER = """
    from vllm.tool_parsers import ToolParser, ToolParserManager
    from vllm.entrypoints.openai.protocol import ExtractedToolCallInformation, FunctionCall, ToolCall

    class Loud(ToolParser):
        def extract_tool_calls(self, model_output, request):
            return ExtractedToolCallInformation(tools_called=False, tool_calls=[], content=model_output.upper())

"""


REGISTER = "ToolParserManager.register_module"


@pytest.mark.parametrize(
    ("registration", "names"),
    [
        ("ToolParserManager.register_module('loud')(Loud)", ["loud"]),
        ("ToolParserManager.register_module(['loud', 'louder'])(Loud)", ["loud", "louder"]),
        ("ToolParserManager.register_module()(Loud)", ["Loud"]),
        ("ToolParserManager.register_module(name='loud', force=True, module=Loud)", ["loud"]),
        ("ToolParserManager.register_module('loud', module=Loud)", ["loud"]),
        ("ToolParserManager.register_lazy_module('loud', 'vllm.tool_parsers.loud', 'Loud')", ["loud"]),
        ("ToolParserManager.register_lazy_module('loud', __name__, 'Loud')", ["loud"]),
        (f"{REGISTER}('a', module=Loud); ToolParserManager.tool_parsers.pop('a'); {REGISTER}('b', module=Loud)", ["b"]),
    ],
)
def test_every_way_to_register_works(load: Callable[[str], list[str]], registration: str, names: list[str]) -> None:
    assert load(f"{PARSER}\n    {registration}\n") == names
    assert [toolglot.load_parser(name).parse("hi", tools=TOOLS).content for name in names] == ["HI"] * len(names)


def test_a_parser_may_be_in_a_module_beside_the_file(
    load: Callable[[str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "beside_the_plugin_file.py").write_text(textwrap.dedent(PARSER))
    lazily = "ToolParserManager.register_lazy_module('loud', 'beside_the_plugin_file', '{}')"
    start = "from vllm.tool_parsers import ToolParserManager\n"

    assert load(start + lazily.format("Loud")) == ["loud"]
    with pytest.raises(PluginFileError, match="'Quiet'"):
        load(start + lazily.format("Quiet"))
    monkeypatch.delitem(sys.modules, "beside_the_plugin_file")


def test_a_lazy_registration_of_nothing_is_an_error(load: Callable[[str], list[str]]) -> None:
    with pytest.raises(PluginFileError, match=r"No module named 'vllm\.tool_parsers\.gone'"):
        load(f"{PARSER}\n    ToolParserManager.register_lazy_module('x', 'vllm.tool_parsers.gone', 'Gone')")


def test_files_are_separate(load: Callable[[str], list[str]]) -> None:
    plugins.load_file(FILES / "tagged_json.py")

    assert load(f"{PARSER}\n    ToolParserManager.register_module('loud', module=Loud)") == ["loud"]


def test_a_registered_name_is_not_taken_twice_where_a_file_says_so(load: Callable[[str], list[str]]) -> None:
    once = "    ToolParserManager.register_module('loud', force=False, module=Loud)\n"

    with pytest.raises(PluginFileError, match="'loud is already registered'"):
        load(PARSER + once + once)


def test_a_file_replaces_an_installed_name_only_when_told(load: Callable[[str], list[str]], tmp_path: Path) -> None:
    with pytest.raises(DuplicateParserError, match="toolglot-hermes"):
        load(f"{PARSER}\n    ToolParserManager.register_module('hermes', module=Loud)")

    plugins.load_file(tmp_path / "written.py", replace=True)
    assert toolglot.load_parser("hermes").parse("hi", tools=TOOLS).content == "HI"


REAL = {
    "__init__.py": "",
    "logger.py": "from logging import getLogger as init_logger",
    "tool_parsers/__init__.py": """
        from vllm.tool_parsers.abstract_tool_parser import ToolParser, ToolParserManager
        ToolParserManager.lazy_parsers["builtin"] = ("vllm.tool_parsers.builtin", "Builtin")
    """,
    "tool_parsers/builtin.py": "class Builtin: pass",
    "tool_parsers/abstract_tool_parser.py": """
        class ChatCompletionRequest:
            skip_special_tokens = True
            def __init__(self, **fields):
                self.tools = fields["tools"]
        class ToolParser:
            def __init__(self, tokenizer):
                pass
            def adjust_request(self, request):
                return request
        class ToolParserManager:
            tool_parsers = {}
            lazy_parsers = {}
            @classmethod
            def register_module(cls, name, module):
                cls.lazy_parsers[name] = (module.__module__, module.__name__)
    """,
    "entrypoints/__init__.py": "",
    "entrypoints/openai/__init__.py": "",
    "entrypoints/openai/protocol.py": """
        from types import SimpleNamespace as ExtractedToolCallInformation
        FunctionCall = ToolCall = None
    """,
}


def test_a_real_vllm_is_used_where_there_is_one(
    load: Callable[[str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, code in REAL.items():
        (tmp_path / "real/vllm" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "real/vllm" / path).write_text(textwrap.dedent(code))
    monkeypatch.syspath_prepend(str(tmp_path / "real"))
    try:
        names = load(f"{PARSER}\n    ToolParserManager.register_module('loud', module=Loud)")
        parser = toolglot.load_parser("loud")

        assert names == ["loud"]
        assert parser.parse("hi", tools=TOOLS).content == "HI"
        assert not issubclass(parser.plugin._class, ToolParser)
        assert "vllm" in sys.modules
    finally:
        for module in [module for module in sys.modules if module.partition(".")[0] == "vllm"]:
            del sys.modules[module]


class Scripted(ToolParser):
    """Says what the test wrote, a delta each."""

    script: Sequence[Any] = ()

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        super().__init__(tokenizer, tools)
        self.rest = list(self.script)

    def extract_tool_calls_streaming(self, *arguments: Any) -> DeltaMessage | None:
        said = self.rest.pop(0) if self.rest else None
        if isinstance(said, Exception):
            raise said
        if callable(said):
            return said(self)  # type: ignore[no-any-return]  # a test's function
        return said


def scripted(*script: Any) -> Parser:
    return Parser("scripted", VllmParser(type("Scripted", (Scripted,), {"script": script}), "scripted.py"))


def call(
    index: int, name: str | None = None, arguments: str | None = None, call_id: str | None = None
) -> DeltaToolCall:
    return DeltaToolCall(index=index, id=call_id, function=DeltaFunctionCall(name=name, arguments=arguments))


def said(*deltas: DeltaToolCall, content: str | None = None) -> DeltaMessage:
    return DeltaMessage(content=content, tool_calls=list(deltas))


def events(parser: Parser, texts: Sequence[str], finish: Any = "stop") -> list[Event]:
    """The events of an output that comes with token ids, so in these pieces."""
    stream = parser.stream(tools=TOOLS)
    found = [event for number, text in enumerate(texts) for event in stream.feed(text, [number])]
    return found + stream.finish(finish)


def test_fragments_become_events_in_order() -> None:
    parser = scripted(
        said(content="Hi"), None, said(call(0, "add", call_id="one")), said(call(0, arguments='{"a"')),
        said(call(0, arguments=': "b"}')), said(call(1, "sub", "{}", call_id="two"), content="!"),
    )  # fmt: skip

    assert events(parser, "012345") == [
        ContentDelta("Hi"),
        CallStart(0, "one", "add"),
        ArgumentsDelta(0, '{"a"'),
        ArgumentsDelta(0, ': "b"}'),
        CallEnd(0, "ok"),
        ContentDelta("!"),
        CallStart(1, "two", "sub"),
        ArgumentsDelta(1, "{}"),
        CallEnd(1, "ok"),
    ]


def test_calls_that_come_at_once_or_mixed_are_told_one_after_the_other() -> None:
    parser = scripted(
        said(call(0, "add", '{"a": ', "one"), call(1, "sub", "{", "two")),
        said(call(1, arguments="}"), call(0, arguments='"b"}')),
        said(call(2, arguments="{"), call(2, "sub", "}", "three")),
    )

    assert events(parser, "012") == [
        CallStart(0, "one", "add"),
        ArgumentsDelta(0, '{"a": '),
        ArgumentsDelta(0, '"b"}'),
        CallEnd(0, "ok"),
        CallStart(1, "two", "sub"),
        ArgumentsDelta(1, "{}"),
        CallEnd(1, "ok"),
        CallStart(2, "three", "sub"),
        ArgumentsDelta(2, "{}"),
        CallEnd(2, "ok"),
    ]


def test_an_id_is_made_where_the_file_gives_none_and_a_function_may_be_a_dict() -> None:
    parser = scripted(DeltaMessage(tool_calls=[{"index": 0, "function": {"name": "sub", "arguments": "{}"}}]))

    start = events(parser, "0")[0]

    assert isinstance(start, CallStart)
    assert start.id.startswith("chatcmpl-tool-")


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_that_a_file_reads_is_passed_on(field: str) -> None:
    parser = scripted(DeltaMessage(**{field: "Hm"}), said(content="Hi"))

    assert events(parser, "01") == [ReasoningDelta("Hm"), ContentDelta("Hi")]


def holds(arguments: Any) -> Callable[[Scripted], DeltaMessage]:
    """Begins a call of which the parser knows all the arguments, but sends half."""

    def say(parser: Scripted) -> DeltaMessage:
        parser.prev_tool_call_arr = [{"name": "add", "arguments": arguments}]
        return said(call(0, "add", '{"a": "é', "one"))

    return say


@pytest.mark.parametrize("arguments", [{"a": "é"}, '{"a": "é"}'])
def test_arguments_that_a_parser_has_not_sent_come_at_the_end(arguments: Any) -> None:
    assert events(scripted(holds(arguments)), "0")[1:] == [
        ArgumentsDelta(0, '{"a": "é'),
        ArgumentsDelta(0, '"}'),
        CallEnd(0, "ok"),
    ]


def test_arguments_that_were_cut_are_not_completed() -> None:
    assert events(scripted(holds({"a": "é"})), "0", "length")[1:] == [
        ArgumentsDelta(0, '{"a": "é'),
        CallEnd(0, "truncated"),
    ]


def test_arguments_that_differ_from_what_was_sent_are_not_sent() -> None:
    assert events(scripted(holds({"a": "e"})), "0")[-1] == CallEnd(0, "malformed")


def test_the_parser_is_told_that_the_model_has_stopped() -> None:
    seen: list[tuple[Any, ...]] = []

    class Watching(ToolParser):
        def extract_tool_calls_streaming(self, *arguments: Any) -> DeltaMessage | None:
            seen.append(arguments[:6])
            return DeltaMessage(content=arguments[2])

    parser = Parser("watching", VllmParser(Watching, "watching.py", tokenizer=TextTokenizer(TOKENS)))
    stop = TextTokenizer(TOKENS).eos_token_id

    assert events(parser, ["a", "", "b"]) == [ContentDelta("a"), ContentDelta("b")]
    assert seen == [
        ("", "a", "a", [], [0], [0]),
        ("a", "a", "", [0], [0, 1], [1]),
        ("a", "ab", "b", [0, 1], [0, 1, 2], [2]),
        ("ab", "ab", "", [0, 1, 2], [0, 1, 2, stop], [stop]),
    ]
    events(parser, ["a"], "length")
    assert len(seen) == 5


@pytest.mark.parametrize("size", [1, 4, 100])
@pytest.mark.parametrize("line", ["1 / 0", "return 3", "raise NotImplementedError"])
def test_a_fault_while_streaming_loses_no_text(load: Callable[[str], list[str]], size: int, line: str) -> None:
    load(f"""
        from vllm.tool_parsers import ToolParser, ToolParserManager
        from vllm.entrypoints.openai.protocol import DeltaMessage

        @ToolParserManager.register_module("faulty")
        class Faulty(ToolParser):
            def extract_tool_calls_streaming(self, before, text, delta, ids_before, ids, delta_ids, request):
                if "!" in text:
                    {line}
                return None if "<" in text else DeltaMessage(content=delta)
    """)
    text = "Hi <call a=1> and! the rest"

    message = streamed(toolglot.load_parser("faulty"), text, size)

    assert message == toolglot.Message(content=text, unparsed=True, validated=message.validated)


def test_a_fault_inside_a_call_ends_it() -> None:
    parser = scripted(said(call(0, "add", '{"a": ', "one")), None, ValueError("broken"))

    assert events(parser, ["<call>", "b", "c", "d"]) == [
        CallStart(0, "one", "add"),
        ArgumentsDelta(0, '{"a": '),
        CallEnd(0, "malformed"),
        ContentDelta("bc", unparsed=True),
        ContentDelta("d", unparsed=True),
    ]


def test_arguments_of_a_call_that_is_over_are_a_fault() -> None:
    parser = scripted(said(call(0, "sub", "{}"), call(1, "sub", "{}")), said(call(0, arguments="x")))

    assert events(parser, ["a", "b"])[-1] == ContentDelta("b", unparsed=True)


def test_text_that_a_parser_waits_on_until_the_end_is_content() -> None:
    parser = scripted(said(content="Sure. "), None, None)

    assert events(parser, ["Sure. <", "call", ">{"]) == [
        ContentDelta("Sure. "),
        ContentDelta("<call>{", unparsed=True),
    ]


def test_framing_after_a_call_is_not_content() -> None:
    assert events(scripted(said(call(0, "sub", "{}")), None), ["<call>sub", "</call>"])[-1] == CallEnd(0, "ok")


@pytest.mark.parametrize("method", ["extract_tool_calls", "adjust_request", "__init__"])
def test_any_other_fault_makes_the_output_content(method: str) -> None:
    def fail(self: Any, *arguments: Any) -> None:
        if method != "__init__" or arguments[-1] is not None:
            raise RuntimeError("broken")

    parser = Parser("broken", VllmParser(type("Broken", (Scripted,), {method: fail}), "broken.py"))

    assert parser.parse("<call>", tools=TOOLS) == toolglot.Message(content="<call>", unparsed=True)
    assert parser.adjust(Request(tools=(Tool("sub"),))) == Request(tools=(Tool("sub"),))


def test_a_file_that_reads_whole_outputs_only_is_read_at_the_end(load: Callable[[str], list[str]]) -> None:
    load(f"""{PARSER}
        def extract_tool_calls_streaming(self, *arguments, **more):
            raise NotImplementedError("Tool calling is not supported in streaming mode!")

    ToolParserManager.register_module("loud", module=Loud)
    """)
    stream = toolglot.load_parser("loud").stream(tools=TOOLS)

    assert stream.feed("hi ") + stream.feed("there") == []
    assert stream.finish() == [ContentDelta("HI THERE")]


def test_a_file_that_reads_streams_only_reads_whole_outputs_too() -> None:
    parser = scripted(said(call(0, "sub", "{}")))

    assert calls(parser.parse("x", tools=TOOLS)) == [("sub", {}, "ok")]


@pytest.mark.parametrize("context", [{"tools": ()}, {"tools": TOOLS, "tool_choice": "none"}])
def test_where_no_call_may_be_made_the_text_passes(context: dict[str, Any]) -> None:
    parser = scripted(RuntimeError("asked"))
    stream = parser.stream(**context)

    assert parser.parse(TAGGED, **context) == toolglot.Message(content=TAGGED)
    assert stream.feed("<call>") == [ContentDelta("<call>")]
    assert stream.finish() == []
    assert parser.adjust(Request()) == Request()


def test_outcomes_are_judged_as_everywhere() -> None:
    arguments = {"a": "1"}, {}, {"a": 1}
    names = ("add", "other", "add")
    parser = scripted(said(*(call(n, name, json.dumps(arguments[n])) for n, name in enumerate(names))))

    ends = [event for event in events(parser, "0") if isinstance(event, CallEnd)]

    assert [end.outcome for end in ends] == ["ok", "unknown_tool", "schema_violation"]


def test_special_tokens_are_kept_where_a_file_asks_for_them() -> None:
    plugins.load_file(FILES / "noted_fields.py")
    request = Request(tools=(Tool("sub"),))

    assert not toolglot.load_parser("noted_fields").adjust(request).skip_special_tokens
    assert scripted().adjust(request).skip_special_tokens


def test_the_request_is_what_vllm_would_give() -> None:
    class Looking(Scripted):
        def adjust_request(self, request: Any) -> Any:
            looked.append((self, request))

    looked: list[tuple[Any, Any]] = []
    turn = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "sub", "arguments": {"a": "é"}}}]}
    user = {"role": "user", "content": "Hi"}
    tools = (Tool.from_openai(TOOLS[0]), Tool("sub"))
    asked = Request(messages=(user, turn), tools=tools, tool_choice=Named("sub"), chat_template_kwargs={"x": 1})

    Parser("looking", VllmParser(Looking, "looking.py")).adjust(asked)

    [(parser, request)] = looked
    assert [tool.function.name for tool in parser.tools] == ["add", "sub"]
    assert request.tools[0].function.parameters == {"type": "object", "properties": PROPERTIES}
    assert request.tools[0].model_dump(exclude_none=True) == TOOLS[0]
    assert request.tool_choice.function.name == "sub"
    assert request.messages[0] == user
    assert request.messages[1]["tool_calls"][0]["function"]["arguments"] == '{"a": "é"}'
    assert request.chat_template_kwargs == {"x": 1}


def test_structured_output_that_is_not_applied_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    class Constraining(Scripted):
        def adjust_request(self, request: Any) -> Any:
            request.structured_outputs = {"json": {}}
            return request

    parser = Parser("constraining", VllmParser(Constraining, "constraining.py"))
    for _ in range(2):
        parser.adjust(Request(tools=(Tool("sub"),)))

    assert [record.message for record in caplog.records] == [
        "tool parser Constraining of constraining.py asks for structured output, which toolglot does not apply for it"
    ]


def test_a_reasoning_parser_is_refused() -> None:
    plugins.load_file(FILES / "tagged_json.py")

    with pytest.raises(PluginError, match="was written for vLLM and reads no reasoning"):
        toolglot.load_parser("tagged_json", reasoning="hermes")
    assert toolglot.load_parser("tagged_json", reasoning="none").parse("hi", tools=TOOLS).content == "hi"


def test_models_are_used_as_pydantic_ones() -> None:
    delta = DeltaToolCall(index=0, function=DeltaFunctionCall(name="add").model_dump(exclude_none=True))
    message = DeltaMessage(tool_calls=[delta], extra=1)

    assert delta.function is not None
    assert delta.function.name == "add"
    assert delta.model_dump(exclude_unset=True) == {"index": 0, "function": {"name": "add"}}
    assert DeltaMessage().tool_calls is not DeltaMessage().tool_calls
    assert json.loads(message.model_dump_json(exclude_none=True)) == {
        "tool_calls": [{"index": 0, "function": {"name": "add"}}],
        "extra": 1,
    }
    assert ToolCall.model_validate({"function": {"name": "a", "arguments": "{}"}}).function.name == "a"
    assert delta.model_copy(update={"index": 3}).index == 3
    assert repr(FunctionCall(name="a", arguments="{}")) == "FunctionCall(name='a', arguments='{}')"
    with pytest.raises(TypeError, match="FunctionCall needs the field 'arguments'"):
        FunctionCall(name="a")


def test_the_base_class_has_what_files_rely_on() -> None:
    parser = ToolParser(TextTokenizer(TOKENS))
    parser.prev_tool_call_arr = [{}, {"arguments": {"a": 1}}]
    parser.streamed_args_for_tool = ["", '{"a"']

    assert parser.vocab == TOKENS
    assert (parser.current_tool_id, parser.current_tool_name_sent) == (-1, False)
    assert parser.get_remaining_unstreamed_args() == ": 1}"


def test_the_manager_finds_what_was_registered() -> None:
    ToolParserManager.register_module("scripted", module=Scripted)
    ToolParserManager.register_lazy_module("base", "toolglot.vllm_plugins.tool_parser", "ToolParser")

    assert ToolParserManager.list_registered() == ["base", "scripted"]
    assert ToolParserManager.get_tool_parser("scripted") is Scripted
    assert ToolParserManager.get_tool_parser("base") is ToolParser
    with pytest.raises(KeyError, match="'other'"):
        ToolParserManager.get_tool_parser("other")


def test_helpers_do_what_vllms_do(caplog: pytest.LogCaptureFixture) -> None:
    assert helpers.find_common_prefix('{"fruit": "ap"}', '{"fruit": "apple"}') == '{"fruit": "ap'
    assert helpers.find_common_suffix('{"fruit": "ap"}', '{"fruit": "apple"}') == '"}'
    assert helpers.extract_intermediate_diff('{"fruit": "apple"}', '{"fruit": "ap"}') == "ple"
    assert helpers.partial_tag_overlap("text <tool_", "<tool_call>") == 6
    assert helpers.partial_tag_overlap("<tool_call>", "<tool_call>") == 0
    assert helpers.consume_space(1, "a \n b") == 4
    assert helpers.is_complete_json('{"a": 1}')
    assert not helpers.is_complete_json('{"a": 1')
    assert helpers.make_tool_call_id("kimi_k2", "f", 3) == "functions.f:3"
    assert helpers.safe_literal_eval("[1, None]") == [1, None]
    assert helpers.is_list_of(["a"], str)
    assert not helpers.is_list_of("a", str)
    assert not helpers.is_mistral_tokenizer(TextTokenizer(None))
    logger = helpers.init_logger("a_plugin_file")
    for _ in range(2):
        logger.warning_once("said %s", "once")
    assert [record.message for record in caplog.records] == ["said once"]


def test_without_a_tokenizer_what_a_file_looks_up_is_a_token() -> None:
    tokenizer = TextTokenizer(None)
    marker = tokenizer.get_vocab()["<m>"]

    ids = tokenizer.encode("é<m>x", add_special_tokens=False)

    assert ids[1] == marker == tokenizer.convert_tokens_to_ids("<m>")
    assert len({*ids, tokenizer.eos_token_id}) == 4
    assert tokenizer.decode([*ids, tokenizer.eos_token_id]) == "é<m>x"
    assert "<other>" in tokenizer.vocab
    assert tokenizer.convert_tokens_to_ids(["<m>"]) == [marker]
