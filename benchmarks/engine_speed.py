"""How fast the engine runs the demo model, next to others: ``nox -s bench-engine``."""

from __future__ import annotations

import importlib.util
import os
import random
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from functools import partial
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

Column = tuple[str, float]
"""What was measured, with its unit, and the value."""


def main() -> None:
    """Measure each engine after the other, and print a table: values, and multiples of the first engine's speed."""
    arguments = flags()
    checkpoint = resolve(None)
    tokenizer = load_tokenizer(checkpoint.path)
    template = find_template(checkpoint.presets["chat_template"], tokenizer)
    renderer, parser = PromptRenderer(tokenizer, chat_template=template), load_parser("hermes", tokenizer=tokenizer)
    rows: dict[str, list[Column]] = {}
    for make in contenders(arguments, checkpoint.path, tokenizer):
        contender = make()
        print(f"{contender.name} ...", flush=True)
        rows[contender.name] = list(measures(contender, arguments))
        if isinstance(contender, Toolglot):
            rows[contender.name].append(("grammar, % of time", 100 * grammar_share(contender, arguments)))
            rows[contender.name].append(("passes that calls save, %", 100 * saved_share(contender, renderer, parser)))
        contender.close()
    lengths = f"prompts of {arguments.prompt} tokens, for decoding {SHORT}, with tools {arguments.tool_prompt}"
    print(f"\n{checkpoint.name}, {arguments.threads} threads; {lengths}; {arguments.tokens} tokens decoded.")
    print("In brackets: how many times as fast as the first.\n")
    print(*table(rows), sep="\n")


def flags() -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.engine_speed")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 1) - 1))
    parser.add_argument("--prompt", type=int, default=512, help="length of the prompt for prefill")
    parser.add_argument("--tool-prompt", type=int, default=1000, help="length of the prompt that comes twice")
    parser.add_argument("--tokens", type=int, default=32, help="how many tokens to decode")
    parser.add_argument(
        "--batches", type=int, nargs="+", default=[1, 8, 32], choices=range(1, MAX_BATCH + 1), metavar="N"
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
            yield make


def measures(contender: Contender, arguments: Namespace) -> Iterator[Column]:
    """The speeds (tok/s) and times (s) of one engine."""
    seconds(contender, prompts(1, arguments.prompt), 2)  # what is made at the first use
    yield "prefill, tok/s", arguments.prompt / fastest(contender, 1, arguments.prompt, 1)
    for batch in arguments.batches:
        took = fastest(contender, batch, SHORT, 1 + arguments.tokens) - fastest(contender, batch, SHORT, 1)
        yield f"decode at {batch}, tok/s", batch * arguments.tokens / took
    tools = prompts(1, min(arguments.tool_prompt, MAX_LENGTH - 1))
    yield "tools, first token, s", seconds(contender, tools, 1)
    yield "tools again, s", seconds(contender, tools, 1)


def prompts(count: int, length: int = SHORT) -> Prompts:
    """Prompts that nobody has seen."""
    return [random.choices(VOCABULARY, k=length) for _ in range(count)]  # noqa: S311


def fastest(contender: Contender, count: int, length: int, tokens: int) -> float:
    """The shorter of two times: what else the machine does only makes them longer."""
    return min(seconds(contender, prompts(count, length), tokens) for _ in range(2))


def seconds(contender: Contender, asked: Prompts, tokens: int) -> float:
    """How long it takes to continue all prompts by so many tokens."""
    start = time.perf_counter()
    contender.run(asked, tokens)
    return time.perf_counter() - start


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


def table(rows: dict[str, list[Column]]) -> Iterator[str]:
    """The lines of a table in Markdown: an engine a row."""
    names = list(dict.fromkeys(name for row in rows.values() for name, _ in row))
    yield f"| | {' | '.join(names)} |"
    yield f"|---|{'---|' * len(names)}"
    base = dict(next(iter(rows.values())))
    for engine, row in rows.items():
        values = dict(row)
        yield f"| {engine} | {' | '.join(cell(name, values.get(name), base.get(name)) for name in names)} |"


def cell(name: str, value: float | None, base: float | None) -> str:
    """A value, and how many times faster it is than the first engine's."""
    if value is None:
        return "–"
    if base is None or "%" in name:
        return f"{value:.3g}"
    return f"{value:.3g} ({value / base if 'tok/s' in name else base / value:.2g})"


if __name__ == "__main__":
    main()
