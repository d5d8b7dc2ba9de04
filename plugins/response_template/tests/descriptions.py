"""A plugin file: what tokenizers could carry, each as a parser of its own, so that it is under the laws."""

from __future__ import annotations

from typing import Any

from toolglot import register_parser
from toolglot.formats import WireFormatParser
from toolglot_response_template import wire_format

_CALL = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}

DESCRIPTIONS: dict[str, dict[str, Any]] = {
    "json": {
        "version": 1,
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "thinking": {"open": "<think>", "close": "</think>"},
            "tool_calls": {
                "open": "<tool_call>",
                "close": "</tool_call>",
                "repeats": True,
                "content": "json",
                "transform": {"type": "function", "function": "{content}"},
            },
            "content": {"close": "<|im_end|>", "content": "text"},
        },
    },
    "list": {
        "start_anchor": "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        "fields": {
            "content": {"open": "<|START_RESPONSE|>", "close": "<|END_RESPONSE|>"},
            "thinking": {"open": "<|START_THINKING|>", "close": "<|END_THINKING|>"},
            "tool_calls": {
                "open": "<|START_ACTION|>",
                "close": "<|END_ACTION|>",
                "content": "json",
                "transform_each": True,
                "transform": {"type": "function", "function": {"name": "{tool_name}", "arguments": "{parameters}"}},
            },
        },
    },
    "map": {
        "start_anchor": ["<|turn>model\n", "<tool_response|>"],
        "fields": {
            "thinking": {"open": "<|channel>thought\n", "close": "<channel|>"},
            "tool_calls": {
                "open_pattern": r"<\|tool_call>call:(?P<name>\w+)",
                "close": "<tool_call|>",
                "repeats": True,
                "content": "json",
                "content_args": {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]},
                "transform": _CALL,
            },
            "content": {"close": ["<turn|>", "<|tool_response>", "<eos>"]},
        },
    },
    "elements": {
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "reasoning_content": {"open_pattern": r"<think>\s*", "close": "</think>"},
            "tool_calls": {
                "open_pattern": r"<tool_call>\s*<function=(?P<name>\w+)>",
                "close": "</tool_call>",
                "repeats": True,
                "content": "xml-inline",
                "content_args": {
                    "tag_pattern": r"<parameter=(?P<key>\w+)>\s*(?P<value>.*?)\s*</parameter>",
                    "value_parser": {"name": "json", "args": {"allow_non_json": True}},
                },
                "transform": _CALL,
            },
        },
    },
    "python": {
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "reasoning": {"open": "<think>", "close": "</think>"},
            "tool_calls": {
                "open": "<|tool_call_start|>",
                "close": "<|tool_call_end|>",
                "content": "python-call-list",
                "transform_each": True,
                "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}},
            },
            "content": {"close": "<|im_end|>"},
        },
    },
}

for name, description in DESCRIPTIONS.items():
    register_parser(f"hf_{name}", WireFormatParser(wire_format(description)))
