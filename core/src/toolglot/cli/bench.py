"""``toolglot bench``: how well a live server keeps to the schemas of tools."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from toolglot.cli.arguments import UsageError, json_object, positive

if TYPE_CHECKING:
    from toolglot.bench.bfcl import Question
    from toolglot.bench.client import Target
    from toolglot.bench.results import Figures, Result

WHAT = ("schema",)
NEEDED = ("httpx", "jsonschema_rs", "rich")
EPILOG = """\
examples:
  toolglot bench schema --base-url http://127.0.0.1:8000/v1 --requests 200
  toolglot bench schema --base-url http://127.0.0.1:8000/v1 --stream --results run.jsonl      (goes on after Ctrl-C)
  toolglot bench schema --base-url http://127.0.0.1:8000/v1 --reference official.jsonl

Schema accuracy: of the replies that ended in calls, the share in which every call names an offered tool, has JSON
arguments, and validates. Trigger similarity: F1 of the finish reasons, against a reference run of the same requests.
"""


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "bench",
        help="measure how well a live server keeps to schemas",
        description="Send a fixed series of requests to any OpenAI-compatible server, and check the calls.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "what", metavar="schema", nargs="?", choices=WHAT, help="what to measure: calls against schemas"
    )
    _add_target_flags(parser)
    _add_workload_flags(parser)
    parser.add_argument("--results", metavar="FILE", help="one result a line; those that it holds are not asked again")
    parser.add_argument("--reference", metavar="FILE", help="the results of the run to compare finish reasons with")
    parser.add_argument("--json", action="store_true", help="print the figures as a JSON object")
    parser.add_argument(
        "--at-least", metavar="PERCENT", type=percent, help="exit code 1 where schema accuracy is less, or has no value"
    )
    parser.set_defaults(run=run, parser=parser)


def _add_target_flags(parser: Any) -> None:
    parser.add_argument("--base-url", metavar="URL", help="such as http://127.0.0.1:8000/v1")
    parser.add_argument("--api-key", metavar="KEY", help="default: the environment's OPENAI_API_KEY")
    parser.add_argument("--model", metavar="NAME", help="default: the first one that the server lists")
    parser.add_argument("--stream", action="store_true", help="ask for streams")
    parser.add_argument("--concurrency", metavar="N", type=positive, default=8, help="requests at once (default: 8)")
    parser.add_argument("--max-tokens", metavar="N", type=positive, default=1024, help="of each reply (default: 1024)")
    parser.add_argument("--tool-choice", choices=("auto", "required"), default="auto", help="default: auto")
    parser.add_argument(
        "--extra-body", metavar="JSON", type=json_object, default={}, help="more fields of each request"
    )


def _add_workload_flags(parser: Any) -> None:
    parser.add_argument("--requests", metavar="N", type=positive, default=2000, help="how many (default: 2000)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another series of requests (default: 0)")
    parser.add_argument(
        "--longest", metavar="N", type=positive, help="only requests of up to N characters, with their tools"
    )
    parser.add_argument("--bfcl", metavar="DIR", help="the data folder of BFCL (default: the installed bfcl-eval's)")


def percent(text: str) -> float:
    """A number from 0 to 100."""
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value <= 100:
        raise ArgumentTypeError(f"{text!r} is not a number from 0 to 100")
    return value


def run(arguments: Namespace) -> int:
    from toolglot.bench import results
    from toolglot.bench.client import first_model

    if arguments.what is None:
        raise UsageError("say what to measure: toolglot bench schema")
    if arguments.base_url is None:
        raise UsageError("--base-url is missing: the server's address, such as http://127.0.0.1:8000/v1")
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError("bench needs more than the parsers; try: pip install 'toolglot[bench]'")
    reference = None if arguments.reference is None else _read(arguments.reference)
    questions = _questions(arguments)
    key = arguments.api_key or os.environ.get("OPENAI_API_KEY")
    base_url = arguments.base_url.rstrip("/")
    target = _target(arguments, base_url, key, arguments.model or first_model(base_url, key))
    known = _known(arguments.results, questions)
    found = _asked(target, questions, known, arguments.results)
    figures = results.figures(found, reference)
    _print(figures, found, as_json=arguments.json)
    return int(not _reached(figures, arguments.at_least))


def _questions(arguments: Namespace) -> list[Question]:
    from toolglot.bench import bfcl
    from toolglot.bench.workload import workload

    data = Path(arguments.bfcl) if arguments.bfcl else bfcl.folder()
    questions = workload(data, arguments.requests, arguments.seed, longest=arguments.longest)
    if len(questions) < arguments.requests:
        raise UsageError(f"--requests {arguments.requests}: there are only {len(questions)} such requests")
    return questions


def _target(arguments: Namespace, base_url: str, key: str | None, model: str) -> Target:
    from toolglot.bench.client import Target

    settings = {"temperature": 0, "max_tokens": arguments.max_tokens, "tool_choice": arguments.tool_choice}
    return Target(
        base_url=base_url,
        api_key=key,
        model=model,
        settings=settings | arguments.extra_body,
        stream=arguments.stream,
        concurrency=arguments.concurrency,
    )


def _read(path: str) -> list[Result]:
    from toolglot.bench import results

    try:
        return results.read(Path(path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _known(path: str | None, questions: Sequence[Question]) -> dict[str, Result]:
    """The results of an earlier run, without those that failed."""
    if path is None or not Path(path).exists():
        return {}
    wanted = {question.id for question in questions}
    return {one.id: one for one in _read(path) if one.id in wanted and one.error is None}


def _asked(target: Target, questions: Sequence[Question], known: dict[str, Result], path: str | None) -> list[Result]:
    """All results, in the order of the questions; new ones are written into the file as they come."""
    from toolglot.checkpoints.progress import progress

    found = dict(known)
    todo = [question for question in questions if question.id not in known]
    with progress(f"Asking {target.model}") as report, Path(path or os.devnull).open("ab") as file:

        def keep(result: Result) -> None:
            file.write(msgspec.json.encode(result) + b"\n")
            file.flush()
            found[result.id] = result
            report(len(found), len(questions))

        report(len(found), len(questions))
        asyncio.run(_ask(target, todo, keep))
    return [found[question.id] for question in questions]


async def _ask(target: Target, questions: Sequence[Question], keep: Callable[[Result], None]) -> None:
    from toolglot.bench.client import ask_all

    async for result in ask_all(target, questions):
        keep(result)


def _print(figures: Figures, found: Sequence[Result], *, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(figures), indent=2).decode())
        return
    for one in found:
        if one.error or one.violation:
            print(f"{one.id}: {one.error or one.violation}")
    reasons = ", ".join(f"{count} {reason}" for reason, count in figures.finish_reasons.items())
    print(f"{figures.requests} requests, {figures.errors} errors; finish reasons: {reasons or 'none'}")
    print(f"schema accuracy: {_share(figures.schema_accuracy)} ({figures.valid} of {figures.calls} replies with calls)")
    if figures.trigger_similarity is not None:
        print(f"trigger similarity: {figures.trigger_similarity:.4f}")


def _share(value: float | None) -> str:
    return "nothing to count" if value is None else f"{100 * value:.2f} %"


def _reached(figures: Figures, least: float | None) -> bool:
    if least is None:
        return True
    return figures.schema_accuracy is not None and 100 * figures.schema_accuracy >= least
