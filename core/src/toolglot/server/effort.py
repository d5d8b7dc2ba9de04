"""How much a client wants the model to reason."""

from __future__ import annotations

from typing import Any


def effort_kwargs(effort: str | None) -> dict[str, Any]:
    """What a chat template is told of an effort; ``"none"`` switches reasoning off, by the names that templates have
    for that.
    """
    if effort is None:
        return {}
    off = {"enable_thinking": False, "thinking": False} if effort == "none" else {}
    return {"reasoning_effort": effort, **off}
