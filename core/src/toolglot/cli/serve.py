"""``toolglot serve``: its flags, with vLLM's names where vLLM has them."""

from __future__ import annotations

from argparse import Namespace
from typing import Any, get_args

from toolglot.cli import reading, server_flags
from toolglot.cli.arguments import json_object, positive
from toolglot.cli.speculation import prompt_lookup
from toolglot.requests import StrictLevel

EPILOG = """\
examples:
  toolglot serve                      the demo model, with the parser and template that it needs
  toolglot serve ./Qwen3-0.6B --enable-auto-tool-choice --tool-call-parser hermes
  toolglot serve model.gguf --tool-call-parser hermes --chat-template tool_chat_template_hermes
  toolglot serve --config toolglot.toml --port 9000
  toolglot serve Qwen/Qwen3-8B --engine vllm --engine-url http://10.0.0.1:8000 --tool-call-parser hermes
  toolglot serve --engine replay:outputs.jsonl --tool-call-parser hermes      no model: prepared outputs
"""


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "serve",
        help="serve a model over OpenAI's and Anthropic's APIs",
        description="Serve a model over OpenAI's and Anthropic's APIs.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="a directory, a GGUF file or a hub name (default: the demo model)"
    )
    _add_tool_calling(parser.add_argument_group("tool calling"))
    _add_prompt(parser.add_argument_group("prompt"))
    server_flags.add(parser)
    engine = parser.add_argument_group("engine")
    _add_engine(engine)
    _add_local(engine)
    _add_remote(parser.add_argument_group("engine elsewhere"))
    parser.set_defaults(run=run, parser=parser)


def run(arguments: Namespace) -> int:
    from toolglot.cli import startup

    startup.serve(arguments)
    return 0


def _add_tool_calling(group: Any) -> None:
    group.add_argument(
        "--enable-auto-tool-choice", action="store_true", help="the model itself may decide to call tools"
    )
    reading.add_parser_flags(group, "auto: the one that fits the model; `toolglot parsers` lists the installed")
    group.add_argument(
        "--reasoning-parser",
        metavar="NAME",
        help="what reads the reasoning (default: the parser; none: nothing)",
    )
    group.add_argument(
        "--tool-strict-level",
        choices=get_args(StrictLevel),
        help="what a grammar holds at the least where the model may choose: what requests ask for (auto), "
        "the frame and names of calls (function), or their arguments too (parameter; default: what the parser's "
        "format recommends, else auto)",
    )
    group.add_argument(
        "--tool-any-property-order",
        action="store_true",
        help="a grammar leaves the order of properties to the model, and then does not enforce that they are there",
    )
    group.add_argument(
        "--exclude-tools-when-tool-choice-none",
        action="store_true",
        help="then leave the tools out of the prompt",
    )
    group.add_argument(
        "--repair", choices=("on", "off"), default="on", help="repair calls that have exactly one reading (default: on)"
    )
    group.add_argument(
        "--unknown-tools",
        choices=("call", "content"),
        default="call",
        help="what a call of a tool that was not offered becomes (default: call)",
    )
    group.add_argument(
        "--incomplete-calls",
        choices=("keep", "drop"),
        default="keep",
        help="what becomes of a call that the token limit cut (default: keep, as far as it got)",
    )


def _add_prompt(group: Any) -> None:
    reading.add_tokenizer_mode(group)
    group.add_argument(
        "--chat-template",
        metavar="TEMPLATE",
        help="a file, or a template of toolglot or the tokenizer (default: the tokenizer's)",
    )
    group.add_argument(
        "--default-chat-template-kwargs",
        metavar="JSON",
        type=json_object,
        default={},
        help="arguments of the chat template, which a request may override",
    )


def _add_engine(group: Any) -> None:
    group.add_argument(
        "--engine",
        metavar="local|vllm|sglang|llamacpp|openai|replay:FILE",
        default="local",
        help="what writes replies: the model here (local), an engine elsewhere, or FILE, which holds prepared ones "
        "(default: local)",
    )
    group.add_argument(
        "--tokenizer",
        metavar="DIR",
        help="with another engine: a checkpoint's directory (default: MODEL's; for replay else one token a byte)",
    )
    group.add_argument(
        "--max-model-len", metavar="TOKENS", type=positive, help="the longest prompt and reply (default: the model's)"
    )
    group.add_argument(
        "--max-num-seqs",
        metavar="N",
        type=positive,
        default=16,
        help="most replies written at once (default: 16)",
    )
    group.add_argument(
        "--max-queue", metavar="N", type=positive, default=256, help="how many requests may wait (default: 256)"
    )


def _add_local(group: Any) -> None:
    """What only the embedded engine takes."""
    group.add_argument(
        "--max-num-batched-tokens",
        metavar="N",
        type=positive,
        help="most tokens of a forward pass (default: 256 on a CPU, 8192 on CUDA)",
    )
    group.add_argument(
        "--kv-cache-memory-bytes",
        metavar="BYTES",
        type=positive,
        help="the size of the cache (default: what --max-num-seqs replies of --max-model-len need, within a share of "
        "the memory)",
    )
    group.add_argument(
        "--dtype",
        choices=("auto", "float32", "bfloat16", "int8"),
        default="auto",
        help="the type of weights (default: auto; on a CPU, int8 where that changes little)",
    )
    for part in ("config", "load"):
        group.add_argument(
            f"--{part}-format",
            choices=("auto", "hf", "mistral"),
            default="auto",
            help="whose files a checkpoint is read from: transformers' (hf) or Mistral's own "
            "(default: auto, which is Mistral's where there is no config.json)",
        )
    group.add_argument("--threads", metavar="N", type=positive, help="CPU threads (default: cores - 1)")
    group.add_argument(
        "--attention",
        choices=("auto", "flash2", "flash4", "sdpa"),
        default="auto",
        help="attention kernel: flash-attn 2 or 4, or torch's (default: auto, the first of these that runs)",
    )
    group.add_argument(
        "--speculative-config",
        metavar="JSON",
        type=prompt_lookup,
        help="guess tokens from those before, and check several at once: "
        """'{"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 3}' (default: off)""",
    )
    group.add_argument("--enforce-eager", action="store_true", help="do not decode from CUDA graphs")
    group.add_argument("--seed", type=int, help="the seed of requests that give none (default: random)")


def _add_remote(group: Any) -> None:
    group.add_argument(
        "--engine-url", metavar="URL", action="append", default=[], help="where it answers; again for each replica"
    )
    group.add_argument("--engine-model", metavar="NAME", help="what it calls the model (default: as here)")
    group.add_argument(
        "--engine-api-key-file",
        metavar="FILE",
        help="a file with the key that it asks for (also TOOLGLOT_ENGINE_API_KEY)",
    )
    group.add_argument(
        "--engine-first-token-timeout",
        metavar="SECONDS",
        type=positive,
        default=600,
        help="how long it may take to the first token, its queue included (default: 600)",
    )
    group.add_argument(
        "--engine-token-timeout",
        metavar="SECONDS",
        type=positive,
        default=60,
        help="how long it may take from one token to the next (default: 60)",
    )
