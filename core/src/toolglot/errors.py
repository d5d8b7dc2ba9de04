"""Everything that toolglot raises on purpose.

::

    ToolglotError
    ├── PluginError                 a parser cannot be had
    │   ├── UnknownParserError      no installed parser has this name
    │   ├── DuplicateParserError    two distributions claim this name
    │   ├── PluginLoadError         the plugin failed to import, or is no parser
    │   └── PluginFileError         a --tool-parser-plugin file is missing, broken or empty
    ├── RequestError                the client asked for something impossible (HTTP 400)
    │   ├── GrammarError            a tool's schema cannot be compiled
    │   │   └── UnenforceableError  the engine holds replies to no such grammar
    │   └── PromptTooLongError      a prompt has more tokens than there is room for
    ├── RenderError                 a call that this format cannot express
    ├── ExportError                 a format that cannot be written as another description
    ├── ModelError                  a checkpoint cannot be found, verified or loaded
    └── EngineError                 generation failed
        ├── QueueFullError          no room for another request now (HTTP 429)
        └── EngineUnavailableError  no engine can be reached now (HTTP 503)
"""

from __future__ import annotations

from collections.abc import Sequence


class ToolglotError(Exception):
    """The root of the tree: catch it to catch every error that is a message to a person."""


class PluginError(ToolglotError):
    """A parser cannot be had."""


class UnknownParserError(PluginError):
    """No installed parser has this name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        listed = ", ".join(self.known) or "none; try: pip install toolglot-hermes"
        super().__init__(f"unknown tool call parser {name!r} (installed: {listed})")


class DuplicateParserError(PluginError):
    """Two distributions, or a file and a distribution, claim one name."""

    def __init__(self, name: str, claimants: Sequence[str]) -> None:
        self.name = name
        self.claimants = tuple(claimants)
        super().__init__(
            f"tool call parser {name!r} is claimed by {' and '.join(self.claimants)}; uninstall one of them"
        )


class PluginLoadError(PluginError):
    """A parser is installed but does not load; the others are not affected."""

    def __init__(self, name: str, distribution: str, version: str, reason: str) -> None:
        self.name = name
        self.distribution = distribution
        self.version = version
        self.reason = reason
        super().__init__(f"tool call parser {name!r} of {distribution} {version} does not load: {reason}")


class PluginFileError(PluginError):
    """A ``--tool-parser-plugin`` file is missing, does not import or registers nothing."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"plugin file {path}: {reason}")


class RequestError(ToolglotError):
    """The request cannot be served as it stands; the server answers 400 with ``param``."""

    def __init__(self, message: str, *, param: str | None = None) -> None:
        self.param = param
        super().__init__(message)


class GrammarError(RequestError):
    """A tool's schema cannot be compiled into a grammar."""


class UnenforceableError(GrammarError):
    """The engine cannot hold a reply to this grammar. Where it need not be held to it, the reply is free."""


class PromptTooLongError(RequestError):
    """A prompt has more tokens than there is room for: ``at_least`` so many, as not all of them were counted."""

    def __init__(self, at_least: int) -> None:
        self.at_least = at_least
        super().__init__(f"the prompt has at least {at_least} tokens", param="messages")


class RenderError(ToolglotError):
    """A call holds a value that the wire format cannot express."""


class ExportError(ToolglotError):
    """A format cannot be written as another description of formats; the text is what stands against it."""


class ModelError(ToolglotError):
    """A checkpoint cannot be found, verified or loaded."""


class EngineError(ToolglotError):
    """Generation failed; the message is safe to show to a client."""


class QueueFullError(EngineError):
    """The engine's queue is full; try again after ``retry_after`` seconds."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"the server is at capacity; retry in {retry_after} s")


class EngineUnavailableError(EngineError):
    """No engine can be reached now; try again after ``retry_after`` seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(message)
