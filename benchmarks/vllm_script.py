"""Runs in vLLM's environment: reads outputs with vLLM's tool parsers, and times them.

One JSON object a line on standard input (``parser``, ``deltas``, ``markers``, ``tool``), one answer a line on standard
output.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import time
from typing import Any

import vllm
from tokenizers import AddedToken, Tokenizer, models
from transformers import PreTrainedTokenizerFast
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.tool_parsers import ToolParserManager

ROUNDS = 5
"""How often an output is read at most."""
SECONDS = 1.0
"""After so much processor time no further round begins: some parsers take a minute for one."""


def main() -> None:
    """Answer until standard input ends."""
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # vLLM may print
        for line in sys.stdin:
            job = json.loads(line)
            print(json.dumps(answer(job)), file=answers, flush=True)


def answer(job: dict[str, Any]) -> dict[str, Any] | None:
    """The ``version`` of vLLM, the median of the rounds in ``seconds``, the ``calls``, and an ``error`` where the
    parser fails; None where vLLM has no such parser.
    """
    try:
        make = ToolParserManager.get_tool_parser(job["parser"])
    except KeyError:
        return None
    found: dict[str, Any] = {"version": vllm.__version__, "seconds": 0.0, "calls": [], "error": ""}
    try:
        return found | rounds(make, job)
    except Exception as error:  # noqa: BLE001  # whatever vLLM's parser raises is its result, and ends no run
        return found | {"error": f"{type(error).__name__}: {error}"}


def rounds(make: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Read an output in some rounds, each with a new parser: the median of the ``seconds``, and the ``calls``."""
    tokenizer = one_token_each(job["deltas"], job["markers"])
    request = ChatCompletionRequest(
        messages=[{"role": "user", "content": "?"}], model="-", tools=[job["tool"]], stream=True
    )
    seconds: list[float] = []
    calls: list[dict[str, str]] = []
    while not seconds or (len(seconds) < ROUNDS and sum(seconds) < SECONDS):
        took, calls = read(make(tokenizer, request.tools), tokenizer, job["deltas"], request)
        seconds.append(took)
    return {"seconds": statistics.median(seconds), "calls": calls}


def one_token_each(deltas: list[str], markers: list[str]) -> PreTrainedTokenizerFast:
    """A tokenizer in which each delta is one token, and ``markers`` are special tokens."""
    texts = sorted({*deltas, *markers})
    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, **{text: n for n, text in enumerate(texts, 1)}}, "<unk>"))
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in markers])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")  # noqa: S106  # no password


def read(
    parser: Any, tokenizer: PreTrainedTokenizerFast, deltas: list[str], request: ChatCompletionRequest
) -> tuple[float, list[dict[str, str]]]:
    """The processor time that the parser takes for all deltas, and the calls that it finds.

    What the server does for it, adding up texts and ids, is not counted.
    """
    ids = tokenizer.get_vocab()
    text, took = "", 0.0
    seen: list[int] = []
    calls: list[dict[str, str]] = []
    for delta in deltas:
        now, all_seen = text + delta, [*seen, ids[delta]]
        start = time.process_time()
        said = parser.extract_tool_calls_streaming(text, now, delta, seen, all_seen, [ids[delta]], request)
        took += time.process_time() - start
        text, seen = now, all_seen
        add(calls, said)
    if hasattr(parser, "finish_streaming"):
        add(calls, parser.finish_streaming())
    return took, calls


def add(calls: list[dict[str, str]], said: Any) -> None:
    """Add what a parser said to the calls so far."""
    for piece in (said.tool_calls or ()) if said else ():
        while len(calls) <= piece.index:
            calls.append({"name": "", "arguments": ""})
        for key in ("name", "arguments"):
            calls[piece.index][key] += getattr(piece.function, key, None) or ""


if __name__ == "__main__":
    main()
