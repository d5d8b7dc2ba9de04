"""The parsers of vLLM in a process of their own, since vLLM has its own environment."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

_SCRIPT = Path(__file__).with_name("vllm_script.py")


class VllmWorker:
    """Sends outputs to a process that reads them with vLLM's parsers."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603  # the Python that the user named
            [python, str(_SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def read(
        self, parser: str, deltas: Sequence[str], *, markers: Sequence[str], tool: dict[str, Any]
    ) -> dict[str, Any] | None:
        """What vLLM's parser of that name does with an output, in which ``markers`` are tokens.

        Returns its ``calls``, the ``seconds`` of processor time, vLLM's ``version``, and an ``error`` where the parser
        fails; None where vLLM has no such parser.

        Raises:
            RuntimeError: the process ended.
        """
        job = {"parser": parser, "deltas": deltas, "markers": markers, "tool": tool}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process with vLLM's parsers ended with code {self._process.wait()}")
        found: dict[str, Any] | None = json.loads(answer)
        return found
