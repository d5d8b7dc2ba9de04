"""How much work one schema may take."""

from __future__ import annotations

from toolglot.errors import GrammarError
from toolglot.schemas import deadline

MAX_STEPS = 60_000
"""How many steps one schema may take; a step is about ten microseconds."""
MAX_STATES = 6_000
"""How many states its automata may have together; a state is about a hundred microseconds."""


class Effort:
    """The work done so far for one schema."""

    def __init__(self) -> None:
        self._steps = 0
        self._states = 0

    @property
    def exhausted(self) -> bool:
        """Whether no more automata are made, so that patterns stay as they are."""
        return self._states > MAX_STATES

    def spend(self, steps: int = 1) -> None:
        """Count what was done, or is about to be.

        Raises:
            GrammarError: it is too much, or too late.
        """
        self._steps += steps
        deadline.check()
        if self._steps > MAX_STEPS:
            raise GrammarError(f"the schema takes more than {MAX_STEPS} steps to work out")

    def build(self, states: int) -> None:
        """Count the states of an automaton that was made."""
        self._states += states
