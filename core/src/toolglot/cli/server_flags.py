"""The flags of ``toolglot serve`` that are about the server, and not about the model."""

from __future__ import annotations

from typing import Any

from toolglot.cli.arguments import not_negative, port, positive

MIB = 1024 * 1024


def add(parser: Any) -> None:
    _add_server(parser.add_argument_group("server"))
    _add_access(parser.add_argument_group("access"))
    _add_limits(parser.add_argument_group("limits"))
    _add_log(parser.add_argument_group("log"))


def _add_server(group: Any) -> None:
    group.add_argument("--config", metavar="FILE", help="a TOML file whose keys are names of flags; flags win over it")
    group.add_argument(
        "--served-model-name",
        metavar="NAME",
        nargs="+",
        default=[],
        help="names that requests use (default: the model's)",
    )
    group.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    group.add_argument("--port", type=port, default=8000, help="the port to listen on (default: 8000)")
    group.add_argument("--no-extensions", action="store_true", help="leave the member `toolglot` out of replies")


def _add_access(group: Any) -> None:
    group.add_argument(
        "--api-key",
        metavar="KEY",
        action="append",
        default=[],
        help="ask for this key; may be given again (also TOOLGLOT_API_KEY)",
    )
    group.add_argument("--api-key-file", metavar="FILE", help="ask for one of the keys in this file, one a line")
    group.add_argument(
        "--isolate-prefix-cache",
        action="store_true",
        help="let requests share computed prompts only with those of the same key",
    )
    group.add_argument(
        "--allowed-origins",
        metavar="ORIGIN",
        nargs="+",
        default=[],
        help="the origins whose pages may use the server from a browser; * is any (default: none)",
    )


def _add_limits(group: Any) -> None:
    _add_limit(group, "--max-body-bytes", "BYTES", 8 * MIB, "the largest request (default: 8 MiB)")
    _add_limit(group, "--max-messages", "N", 10_000, "the most messages of a request")
    _add_limit(group, "--max-tools", "N", 1024, "the most tools of a request")
    _add_limit(group, "--max-schema-bytes", "BYTES", MIB, "the largest schema, as JSON (default: 1 MiB)")
    _add_limit(group, "--max-choices", "N", 16, "the most replies to one request, its `n`")
    _add_limit(group, "--max-tokens-limit", "N", None, "the most tokens of a reply (default: what there is room for)")
    group.add_argument(
        "--max-stored-responses",
        metavar="N",
        type=not_negative,
        default=1000,
        help="how many responses of the Responses API are kept for clients to come back to (default: 1000)",
    )
    _add_limit(group, "--max-stored-bytes", "BYTES", 64 * MIB, "how much memory they may take (default: 64 MiB)")
    _add_limit(group, "--max-requests", "N", 1024, "the most requests that are answered at once")
    _add_limit(
        group, "--client-timeout", "SECONDS", 60, "how long a client may take to send a request, or not read its answer"
    )
    _add_limit(group, "--shutdown-timeout", "SECONDS", 30, "how long replies may go on when the server is told to stop")


def _add_limit(group: Any, flag: str, metavar: str, default: int | None, what: str) -> None:
    text = what if "(default" in what else f"{what} (default: {default})"
    group.add_argument(flag, metavar=metavar, type=positive, default=default, help=text)


def _add_log(group: Any) -> None:
    group.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="how much is logged (default: info)",
    )
    group.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="lines for people or objects (default: text)"
    )
    group.add_argument("--log-prompts", action="store_true", help="log the bodies of requests too")
