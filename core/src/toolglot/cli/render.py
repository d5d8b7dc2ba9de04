"""``toolglot render``: write calls as a model of the parser's family writes them."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from toolglot.cli import reading
from toolglot.cli.arguments import UsageError

EPILOG = """\
examples:
  echo '[{"name": "get_weather", "arguments": {"city": "Oslo"}}]' | toolglot render --tool-call-parser hermes
  toolglot parse --tool-call-parser hermes output.txt | toolglot render --tool-call-parser hermes
  toolglot render --tool-call-parser mistral --tokenizer ./Mistral-Nemo calls.json
"""


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "render",
        help="write calls in a parser's format",
        description="Write calls in a parser's format.",
        epilog=EPILOG,
    )
    reading.add_parser_flags(parser)
    reading.add_tokenizer_flags(parser)
    reading.add_input_flags(parser, "a JSON array of calls (name, arguments), or what `parse` prints")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: Namespace) -> int:
    tokenizer = reading.read_tokenizer(arguments.tokenizer, arguments.tokenizer_mode)
    parser = reading.parser_of(arguments, tokenizer=tokenizer)
    tools = reading.read_tools(arguments.tools)
    print(parser.render(read_calls(arguments.file), tools=tools))
    return 0


def read_calls(path: str) -> list[dict[str, Any]]:
    """The calls in the JSON file ``path``. Raises UsageError."""
    value = reading.read_json(path, "calls")
    calls = value.get("tool_calls") if isinstance(value, dict) else value
    if not isinstance(calls, list):
        raise UsageError(f"calls {path}: a JSON array of calls is wanted, or an object with `tool_calls`")
    for number, call in enumerate(calls):
        if not isinstance(call, dict) or not isinstance(call.get("name"), str) or "arguments" not in call:
            raise UsageError(f"calls {path}: call {number} is no object with `name` and `arguments`")
    return calls
