"""``toolglot parse``: read a model's raw output, and print what it says."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from toolglot.cli import reading
from toolglot.cli.arguments import UsageError, did_you_mean
from toolglot.cli.chunks import chunking, whole

if TYPE_CHECKING:
    from toolglot.events import Event, Finish
    from toolglot.parser import Stream

CHOICES = ("auto", "none", "required")
"""Values of --tool-choice that name no tool."""
EPILOG = """\
examples:
  toolglot parse --tool-call-parser hermes output.txt
  some-model | toolglot parse --tool-call-parser hermes --tools tools.json
  toolglot parse --tool-call-parser hermes --chunks 1 --events output.txt      one character at a time
  toolglot parse --tool-call-parser hermes --tool-choice get_weather --constrained output.txt
"""


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "parse",
        help="read a model's raw output and print its message",
        description="Read a model's raw output, and print its reasoning, content and tool calls as JSON.",
        epilog=EPILOG,
    )
    reading.add_parser_flags(parser)
    reading.add_tokenizer_flags(parser)
    reading.add_input_flags(parser, "the raw output")
    parser.add_argument(
        "--tool-choice", metavar="CHOICE", default="auto", help="auto, none, required, or a tool's name (default: auto)"
    )
    parser.add_argument("--reasoning-parser", metavar="NAME", help="as for `serve`; none leaves it in the content")
    parser.add_argument("--reasoning-open", action="store_true", help="the prompt had already opened the reasoning")
    parser.add_argument("--finish-reason", choices=("stop", "length"), default="stop", help="why the output ended")
    parser.add_argument(
        "--incomplete-calls", choices=("keep", "drop"), default="keep", help="what becomes of a call that was cut"
    )
    parser.add_argument("--constrained", action="store_true", help="written under the parser's grammar: read exactly")
    parser.add_argument(
        "--chunks",
        metavar="N|random:SEED",
        type=chunking,
        default=whole,
        help="feed N characters at a time, or a random number",
    )
    parser.add_argument("--events", action="store_true", help="print the events, one JSON object a line, as they come")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: Namespace) -> int:
    tokenizer = reading.read_tokenizer(arguments.tokenizer, arguments.tokenizer_mode)
    parser = reading.parser_of(arguments, tokenizer=tokenizer, reasoning=arguments.reasoning_parser)
    text = reading.read_text(arguments.file, "raw output")
    tools = reading.called_tools(parser, text) if arguments.tools is None else reading.read_tools(arguments.tools)
    stream = parser.stream(
        tools=tools,
        tool_choice=_tool_choice(arguments.tool_choice, [tool["function"]["name"] for tool in tools]),
        reasoning_open=arguments.reasoning_open,
        constrained=arguments.constrained,
        incomplete_calls=arguments.incomplete_calls,
    )
    for event in _events(stream, arguments.chunks(text), arguments.finish_reason):
        if arguments.events:
            print(msgspec.json.encode(event).decode(), flush=True)
    if not arguments.events:
        print(msgspec.json.format(msgspec.json.encode(stream.message), indent=2).decode())
    return 0


def _events(stream: Stream, pieces: Iterable[str], finish_reason: Finish) -> Iterator[Event]:
    for piece in pieces:
        yield from stream.feed(piece)
    yield from stream.finish(finish_reason)


def _tool_choice(word: str, names: Sequence[str]) -> Any:
    if word in CHOICES:
        return word
    if word not in names:
        hint = did_you_mean(word, (*CHOICES, *names)) or f"there is {', '.join(names)}"
        raise UsageError(f"--tool-choice {word}: no such tool; {hint}; --tools says which are offered")
    return {"type": "function", "function": {"name": word}}
