"""``toolglot export``: a parser in the form in which another program takes it."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from typing import Any

from toolglot.cli import reading
from toolglot.cli.arguments import UsageError
from toolglot.errors import ExportError

EPILOG = """\
examples:
  toolglot export response-template hermes --start-anchor '<|im_start|>assistant' --end '<|im_end|>'
  toolglot export vllm-plugin kimi_k2 > toolglot_plugin.py
"""
_VLLM_PLUGIN = '''\
"""toolglot's parsers for vLLM, where its plugins are not loaded by themselves:

vllm serve MODEL --enable-auto-tool-choice --tool-parser-plugin THIS_FILE --tool-call-parser toolglot_{first}
"""

from toolglot_vllm import register

register({names})
'''


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "export",
        help="write a parser's format for another program",
        description="Write a parser's format as transformers describes one (response-template), or a file with which "
        "vLLM finds it (vllm-plugin).",
        epilog=EPILOG,
    )
    parser.add_argument("kind", metavar="KIND", nargs="?", help="response-template or vllm-plugin")
    parser.add_argument("names", metavar="NAME", nargs="*", help="the parser; for vllm-plugin, one or more")
    parser.add_argument(
        "--start-anchor", metavar="TEXT", help="response-template: with what the prompt ends, before the reply"
    )
    parser.add_argument(
        "--end", metavar="TEXT", action="append", default=[], help="response-template: what ends a reply"
    )
    reading.add_tokenizer_flags(parser)
    parser.set_defaults(run=run, parser=parser)


def run(arguments: Namespace) -> int:
    if arguments.kind not in _KINDS or not arguments.names:
        raise UsageError(f"name what is wanted ({' or '.join(_KINDS)}), and the parser")
    print(_KINDS[arguments.kind](arguments), end="")
    return 0


def _response_template(arguments: Namespace) -> str:
    from toolglot.formats import response_template

    if len(arguments.names) > 1:
        raise UsageError("a response_template describes one format; name one parser")
    name = arguments.names[0]
    tokenizer = reading.read_tokenizer(arguments.tokenizer, arguments.tokenizer_mode)
    form = getattr(reading.load_parser(name, tokenizer=tokenizer).plugin, "form", None)
    if form is None:
        raise UsageError(f"parser {name!r} declares no format that could be written")
    try:
        template = response_template(form, start_anchor=arguments.start_anchor, ends=arguments.end)
    except ExportError as error:
        raise UsageError(f"parser {name!r} cannot be written as a response_template: {error}") from error
    if arguments.start_anchor is None:
        print("transformers takes no template without --start-anchor: it depends on the prompt", file=sys.stderr)
    return json.dumps(template, ensure_ascii=False, indent=2) + "\n"


def _vllm_plugin(arguments: Namespace) -> str:
    for name in arguments.names:
        reading.load_parser(name)  # a name that there is not is told now
    names = json.dumps(arguments.names)
    return _VLLM_PLUGIN.format(first=arguments.names[0], names=names)


_KINDS = {"response-template": _response_template, "vllm-plugin": _vllm_plugin}
