"""A stand-in for vLLM, for the tests of what is said to it where it is not installed.

It has the interfaces of 0.32 as far as the bridge uses them on import and to register, and nothing behind them: how the
bridge reads is tested with real vLLM.
"""

from __future__ import annotations

import sys
from types import ModuleType

VERSION = "0.32.0"


class ToolParser:
    engine_based_streaming = False

    def __init__(self, tokenizer, tools=None):
        self.model_tokenizer = tokenizer
        self.tools = list(tools or ())
        self.prev_tool_call_arr = []
        self.streamed_args_for_tool = []

    def get_structural_tag(self, request, *, reasoning=False, strict_level=None):
        return None

    def adjust_request(self, request):
        return request


class ReasoningParser:
    def __init__(self, tokenizer, *args, **kwargs):
        self.model_tokenizer = tokenizer


class _Manager:
    @classmethod
    def register_lazy_module(cls, name, module_path, class_name):
        cls.lazy_parsers[name] = (module_path, class_name)


class DelegatingParser:
    tool_parser_cls = reasoning_parser_cls = None
    tool_strict_level = 0

    def __init__(self, tokenizer, tools=None, *args, **kwargs):
        self.model_tokenizer = tokenizer
        self.reasoning_parser = self.reasoning_parser_cls and self.reasoning_parser_cls(tokenizer)
        self.tool_parser = self.tool_parser_cls and self.tool_parser_cls(tokenizer, tools)


class _Fields:
    def __init__(self, **fields):
        vars(self).update(fields)


_CALLS = ("ToolCall", "FunctionCall", "ExtractedToolCallInformation")
_PROTOCOL = (*_CALLS, "DeltaMessage", "DeltaToolCall", "DeltaFunctionCall")


def _names():
    """The modules and what is in them, new each time: managers keep what is registered."""
    theirs = {"lazy_parsers": {"hermes": ("theirs", "Hermes")}, "tool_parsers": {"hermes": object}}
    tools = type("ToolParserManager", (_Manager,), theirs)
    reasoning = type("ReasoningParserManager", (_Manager,), {"lazy_parsers": {}, "reasoning_parsers": {}})

    def get_parser(tool_parser_name=None, reasoning_parser_name=None, **options):
        return None

    manager = type("ParserManager", (), {"get_parser": staticmethod(get_parser)})
    return {
        "vllm": {"__version__": VERSION},
        "vllm.tool_parsers": {"ToolParser": ToolParser, "ToolParserManager": tools},
        "vllm.reasoning": {"ReasoningParser": ReasoningParser, "ReasoningParserManager": reasoning},
        "vllm.entrypoints": {},
        "vllm.entrypoints.generate": {},
        "vllm.entrypoints.generate.base": {},
        "vllm.entrypoints.generate.base.protocol": {name: type(name, (_Fields,), {}) for name in _PROTOCOL},
        "vllm.parser": {"ParserManager": manager},
        "vllm.parser.abstract_parser": {"DelegatingParser": DelegatingParser},
    }


def install(monkeypatch, *, without=(), moved=()):
    """Let ``import vllm`` find the stand-in for the rest of a test, and the bridge be imported anew.

    ``without``: modules, or ``module:name``, that it lacks; ``moved``: (module, new place).
    """
    modules = {path: dict(names) for path, names in _names().items() if path not in without}
    for place in without:
        path, _, name = place.partition(":")
        if name:
            del modules[path][name]
    for path, place in moved:
        modules[place] = modules.pop(path)
        for depth in range(place.count(".")):
            modules.setdefault(place.rsplit(".", depth + 1)[0], {})
    loaded = [name for name in sys.modules if name.partition(".")[0] in ("vllm", "toolglot_vllm")]
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)
    for path, names in modules.items():
        module = ModuleType(path)
        module.__path__ = []
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, path, module)
    return modules
