"""What an operator sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from toolglot.requests import StrictLevel


class ServerConfig(Struct, frozen=True, kw_only=True):
    """How the server behaves; every field is set by ``toolglot serve``."""

    served_model_names: tuple[str, ...] = ()
    """The names that requests may use, the first being the one that is shown. Empty: the engine's name."""
    host: str = "127.0.0.1"
    port: int = 8000
    api_keys: tuple[str, ...] = ()
    """Every route but ``/health`` and ``/ready`` asks for one of them. Empty: no key is needed."""
    isolate_prefix_cache: bool = False
    """Whether requests share computed prompts only with those of the same key."""
    allowed_origins: tuple[str, ...] = ()
    """The origins whose pages may use the server from a browser; ``*`` is any. Empty: none, and no CORS headers."""
    enable_auto_tool_choice: bool = False
    """Whether the model may call tools of its own accord."""
    exclude_tools_when_tool_choice_none: bool = False
    """Whether ``tool_choice: "none"`` also leaves the tools out of the prompt."""
    default_chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the chat template that a request may override."""
    repair: bool = True
    """Whether safe repairs are made in calls that no grammar constrained."""
    incomplete_calls: Literal["keep", "drop"] = "keep"
    """Whether calls that the token limit cut are delivered as far as they got; ``drop`` sends whole calls only."""
    unknown_tools: Literal["call", "content"] = "call"
    """What a call of a tool that was not offered becomes."""
    strict_level: StrictLevel | None = None
    """How much is held to a grammar at the least. None: what the parser's format recommends, else ``auto``."""
    enforce_strict_tool_calling: bool = True
    """Whether calls are held to a grammar at all; this one is set by an environment variable."""
    any_property_order: bool = False
    """Whether the model may write an object's members in any order; their presence is then not enforced."""
    extensions: bool = True
    """Whether replies carry the choice-level member ``toolglot``."""
    max_choices: int = 16
    """The largest ``n``, replies to one request."""
    max_body_bytes: int = 8 * 1024 * 1024
    """The largest request body, in bytes; a larger one is a 413."""
    max_stored_responses: int = 1000
    """How many responses of the Responses API are kept for clients to come back to; 0: none."""
    max_stored_bytes: int = 64 * 1024 * 1024
    """About how many bytes they may take in memory; the least recently used ones make room."""
    max_messages: int = 10_000
    """The most messages of one request."""
    max_tools: int = 1024
    """The most tools of one request."""
    max_schema_bytes: int = 1024 * 1024
    """The largest schema of a tool's arguments or of a response format, in bytes of JSON."""
    max_tokens_limit: int | None = None
    """The most tokens that a reply may have; more is a 400. None: what there is room for."""
    max_requests: int = 1024
    """The most requests that are answered at once; a further one is a 429."""
    client_timeout: int = 60
    """How long a client may take to send a request, and how long it may stop reading its answer, in seconds."""
    shutdown_timeout: int = 30
    """How long running replies may go on after the server is told to stop, in seconds."""
    log_prompts: bool = False
    """Whether the log holds the bodies of requests."""
