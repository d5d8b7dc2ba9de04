"""How fast the engine runs the demo model, next to others: ``nox -s bench-engine``."""

from __future__ import annotations

import importlib.util
import os
import random
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any
from unittest.mock import patch

from benchmarks.contenders import MAX_BATCH, MAX_LENGTH, Contender, Llama, Prompts, Toolglot, Transformers, Vllm
from toolglot import Parser, load_parser
from toolglot.bench.agents import tool_sets
from toolglot.checkpoints import demo, load_tokenizer, resolve
from toolglot.grammar.matcher import Masks
from toolglot.prompts import PromptRenderer, find_template
from toolglot.requests import Request
from toolglot.structural_tag import JsonSchema, StructuralTag

SHORT = 16
"""The length of prompts before decoding, in tokens: nothing that a prefix cache keeps."""
CALL = 100
"""The longest call that is written to count its passes, in tokens."""
AGENTS = ("filesystem", "git", "maps", "slack")
"""Whose tools are called, the first three of each."""
VOCABULARY = range(100, 40_000)

ROUNDS = 3
"""How often each time is taken, the engines in turn: what else the machine does then meets all of them."""

Column = dict[str, float]
"""A value for each engine, by its name."""

Clock = Callable[[Contender], float]
"""What tells the time, in seconds."""


def main() -> None:
    """Measure all engines side by side, and print a table: values, and multiples of the first engine's speed."""
    arguments = flags()
    checkpoint = resolve(None)
    tokenizer = load_tokenizer(checkpoint.path)
    engines = [make() for make in contenders(arguments, checkpoint.path, tokenizer)]
    columns: dict[str, Column] = {}
    clock = processor_time if arguments.processor_time else passed
    template = find_template(checkpoint.presets["chat_template"], tokenizer)
    renderer = PromptRenderer(tokenizer, chat_template=template)
    parser = load_parser("hermes", tokenizer=tokenizer)
    ours = [engine for engine in engines if isinstance(engine, Toolglot)]
    for title, column in chain(measures(engines, arguments, clock), shares(ours, arguments, renderer, parser)):
        columns[title] = column
        print(f"{title}: {', '.join(f'{name} {value:.3g}' for name, value in column.items())}", flush=True)
    for engine in engines:
        engine.close()
    lengths = f"prompts of {arguments.prompt} tokens, for decoding {SHORT}, with tools {arguments.tool_prompt}"
    timed = "processor time" if arguments.processor_time else "time that passed"
    print(f"\n{checkpoint.name}, {arguments.threads} threads; {lengths}; {arguments.tokens} tokens decoded; {timed}.")
    print("In brackets: how many times as fast as the first.\n")
    print(*table([engine.name for engine in engines], columns), sep="\n")


def flags() -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.engine_speed")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 1) - 1))
    parser.add_argument("--prompt", type=int, default=512, help="length of the prompt for prefill")
    parser.add_argument("--tool-prompt", type=int, default=1000, help="length of the prompt that comes twice")
    parser.add_argument("--tokens", type=int, default=32, help="how many tokens to decode")
    parser.add_argument(
        "--batches", type=int, nargs="+", default=[1, 8, 32], choices=range(1, MAX_BATCH + 1), metavar="N"
    )
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="not the time that passes: for one thread on a busy machine",
    )
    parser.add_argument("--vllm-python", help="a Python with vLLM")
    parser.add_argument("--only", nargs="+", help="engines whose names begin so")
    return parser.parse_args()


def contenders(arguments: Namespace, path: Any, tokenizer: Any) -> Iterator[Callable[[], Contender]]:
    """What loads each engine that there is."""
    threads = arguments.threads
    found: dict[str, Callable[[], Contender]] = {
        f"toolglot {dtype}": partial(Toolglot, path, tokenizer, dtype, threads) for dtype in ("float32", "int8")
    }
    found["transformers"] = partial(Transformers, path, threads)
    if importlib.util.find_spec("xllamacpp"):
        found["llama.cpp"] = partial(Llama, demo.fetch(), "Q4_1", threads)
    if arguments.vllm_python:
        found["vLLM"] = partial(Vllm, arguments.vllm_python, path, threads)
    for name, make in found.items():
        if not arguments.only or name.startswith(tuple(arguments.only)):
            print(f"{name}: loading", flush=True)
            yield make


def passed(_: Contender) -> float:
    return time.perf_counter()


def processor_time(engine: Contender) -> float:
    return engine.processor_time()


def measures(engines: list[Contender], arguments: Namespace, clock: Clock) -> Iterator[tuple[str, Column]]:
    """What was measured, with its unit, and the values: speeds (tok/s) and times (s)."""
    once(engines, prompts(1, arguments.prompt), 2, clock)  # what is made at the first use
    took = fastest(engines, 1, arguments.prompt, 1, clock)
    yield "prefill, tok/s", {name: arguments.prompt / seconds for name, seconds in took.items()}
    for batch in arguments.batches:
        first, whole = (fastest(engines, batch, SHORT, tokens, clock) for tokens in (1, 1 + arguments.tokens))
        decoded = batch * arguments.tokens
        yield f"decode at {batch}, tok/s", {name: decoded / (whole[name] - first[name]) for name in first}
    tools = prompts(1, min(arguments.tool_prompt, MAX_LENGTH - 1))
    yield "tools, first token, s", once(engines, tools, 1, clock)
    yield "tools again, s", once(engines, tools, 1, clock)


def shares(
    engines: list[Toolglot], arguments: Namespace, renderer: PromptRenderer, parser: Parser
) -> Iterator[tuple[str, Column]]:
    """What grammars cost, and what they save."""
    yield "grammar, % of time", {engine.name: 100 * grammar_share(engine, arguments) for engine in engines}
    saved = {engine.name: 100 * saved_share(engine, renderer, parser) for engine in engines}
    yield "passes that calls save, %", saved


def prompts(count: int, length: int = SHORT) -> Prompts:
    """Prompts that nobody has seen."""
    return [random.choices(VOCABULARY, k=length) for _ in range(count)]  # noqa: S311


def fastest(engines: list[Contender], count: int, length: int, tokens: int, clock: Clock) -> Column:
    """The shortest of several times for each: what else the machine does only makes them longer."""
    rounds = [once(engines, prompts(count, length), tokens, clock) for _ in range(ROUNDS)]
    return {engine.name: min(times[engine.name] for times in rounds) for engine in engines}


def once(engines: list[Contender], asked: Prompts, tokens: int, clock: Clock) -> Column:
    """How many seconds each takes to continue all prompts by so many tokens."""
    return {engine.name: seconds(engine, asked, tokens, clock) for engine in engines}


def seconds(engine: Contender, asked: Prompts, tokens: int, clock: Clock) -> float:
    start = clock(engine)
    engine.run(asked, tokens)
    return clock(engine) - start


def grammar_share(contender: Toolglot, arguments: Namespace) -> float:
    """The share of its time that the engine spends in the grammar, while it writes JSON at the middle batch."""
    item = {"type": "object", "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}}
    tag = StructuralTag(JsonSchema({"type": "array", "items": item}))
    constraint = Clocked(contender.runner.run(contender.engine.compile(tag)))
    asked = prompts(sorted(arguments.batches)[len(arguments.batches) // 2])
    start = time.perf_counter()
    with patch.object(Masks, "apply", constraint.clocked(Masks.apply)):
        contender.run(asked, arguments.tokens, constraint)
    return sum(constraint.spent) / (time.perf_counter() - start)


def saved_share(contender: Toolglot, renderer: PromptRenderer, parser: Parser) -> float:
    """The share of forward passes that calls do not need, since their grammars force much of them."""
    passes = tokens = 0
    for name in AGENTS:
        offered = tool_sets()[name]
        tools = tuple(each.tool for each in offered.tools[:3])
        tag = parser.structural_tag(tools, "required", parallel_tool_calls=False)
        asked = Request(messages=({"role": "user", "content": offered.questions[0]},), tools=tools)
        constraint = contender.runner.run(contender.engine.compile(tag))
        deltas = contender.deltas(renderer.render(asked).token_ids, CALL, constraint)
        passes += len(deltas)
        tokens += sum(len(delta.token_ids) + (delta.stop_token is not None) for delta in deltas)
    return 1 - passes / tokens


class Clocked:
    """A constraint or a matcher; ``spent`` are the seconds in each call."""

    def __init__(self, inner: Any, spent: list[float] | None = None) -> None:
        self._inner = inner
        self.spent: list[float] = [] if spent is None else spent

    def matcher(self) -> Clocked:
        return Clocked(self._inner.matcher(), self.spent)

    def __getattr__(self, name: str) -> Any:
        found = self.clocked(getattr)(self._inner, name)
        return self.clocked(found) if callable(found) else found

    def clocked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time taken."""

        def timed(*arguments: Any) -> Any:
            start = time.perf_counter()
            result = function(*arguments)
            self.spent.append(time.perf_counter() - start)
            return result

        return timed


def table(names: list[str], columns: dict[str, Column]) -> Iterator[str]:
    """The lines of a table in Markdown: an engine a row."""
    yield f"| | {' | '.join(columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    for name in names:
        cells = [cell(title, column.get(name), column.get(names[0])) for title, column in columns.items()]
        yield f"| {name} | {' | '.join(cells)} |"


def cell(name: str, value: float | None, base: float | None) -> str:
    """A value, and how many times faster it is than the first engine's."""
    if value is None:
        return "–"
    if base is None or "%" in name:
        return f"{value:.3g}"
    return f"{value:.3g} ({value / base if 'tok/s' in name else base / value:.2g})"


if __name__ == "__main__":
    main()
