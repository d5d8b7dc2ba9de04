"""The four hooks of toolglot's plugin API, version 1 (entry-point group ``toolglot.parsers.v1``).

All are ``firstresult``: ``None`` means "not mine" and falls to core's default. A plugin may leave hooks out, and may
leave arguments out of those it has. A hook that raises costs its own request's parse: the rest of the output is
content.
"""

from __future__ import annotations

from collections.abc import Sequence

import pluggy

from toolglot.events import Event, Message
from toolglot.requests import Delta, Output, Request, State
from toolglot.structural_tag import StructuralTag

PROJECT = "toolglot"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def adjust_request(request: Request) -> Request | None:
    """Change how a request is rendered and decoded, before the prompt is made.

    Return a changed copy, or None for no change. To change what another plugin returned, be a wrapper.
    """


@hookspec(firstresult=True)
def get_structural_tag(request: Request) -> StructuralTag | None:
    """Say what the model may write for this request. None: nothing is constrained.

    Called after the prompt is rendered, so ``reasoning_open`` and ``may_reason`` are known.
    """


@hookspec(firstresult=True)
def extract_tool_calls(output: Output, request: Request) -> Message | None:
    """Read a whole output. Core's default feeds it to ``extract_tool_calls_streaming`` in one piece."""


@hookspec(firstresult=True)
def extract_tool_calls_streaming(delta: Delta, state: State, request: Request) -> Sequence[Event] | None:
    """Read one more piece of an output, and return what is now certain.

    ``[]``: handled, nothing to say yet. The last delta has ``finish`` set, and may have no text. Keep what must be
    remembered in ``state.of(self, make)``. Core's default holds everything until the end and then calls
    ``extract_tool_calls``.
    """
