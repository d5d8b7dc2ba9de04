"""Which parser a model needs: the one whose markers its chat template writes, or that names its architecture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from toolglot import plugins
from toolglot.errors import PluginError
from toolglot.formats import Calls, WireFormat
from toolglot.formats.layout import distinct
from toolglot.parser import load_parser

_SEAM = re.compile(r"[ \t\r\n~]+|(?<!\{)\{\w+(?::\w+)?\}(?!\})")
"""Where a marker's text is interrupted: by whitespace, or by a slot."""


class Evidence(Struct, frozen=True):
    """What is known of a model."""

    template: str = ""
    """The text of its chat template, or of all of them."""
    tokens: frozenset[str] = frozenset()
    """The texts of its added tokens."""
    architectures: tuple[str, ...] = ()
    """``architectures`` and ``model_type`` of its config."""


class Candidate(Struct, frozen=True):
    """A parser that fits, and why."""

    name: str
    markers: tuple[str, ...]
    """The markers of it that were found."""
    architecture: str | None
    """The model's architecture, where the parser names it."""
    where: str = "chat template"
    """Where the markers were found."""

    @property
    def reason(self) -> str:
        """Why it fits, for people."""
        marked = f"the model's {self.where} has {', '.join(self.markers)}" if self.markers else ""
        named = f"it is the parser of {self.architecture}" if self.architecture else ""
        return " and ".join(filter(None, (marked, named)))


class UndecidedError(PluginError):
    """No parser fits, or several do."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.candidates = tuple(candidates)
        listed = "; ".join(f"{one.name} ({one.reason})" for one in candidates)
        found = f"several parsers fit this model: {listed}" if candidates else "no installed parser fits this model"
        super().__init__(f"{found}; choose one with --tool-call-parser, or `generic`, which suits every model")


def detect(evidence: Evidence) -> Candidate:
    """The one installed parser that fits.

    Imports every parser that is installed; one that does not load is passed over.

    Raises:
        UndecidedError: none fits, or several do, which are its ``candidates``.
    """
    found = candidates(evidence)
    if len(found) != 1:
        raise UndecidedError(found)
    return found[0]


def candidates(evidence: Evidence) -> list[Candidate]:
    """Every installed parser that fits as well as any other does: by the markers that it writes, by others that it
    reads, or by the architecture alone. Of those with the same markers, one that names the model's architecture fits
    better than one that names none, and that one better than one that names others; then one that reads less besides.
    """
    fits = [fit for name, plugin in _parsers(evidence) if (fit := _fit(name, plugin, evidence))]
    best = [fit for fit in fits if fit.grade == min(one.grade for one in fits)]
    best = [fit for fit in best if not any(_within(fit.found.markers, other.found.markers) for other in best)]
    best = [fit for fit in best if fit.strangeness == min(one.strangeness for one in best)]
    return sorted((fit.found for fit in best), key=lambda one: one.name)


class _Fit(Struct):
    found: Candidate
    grade: int
    """Whether the dialect that it writes is in the template (0) or another that it reads (1), or in the vocabulary
    alone (2, 3); or whether only the architecture fits (4).
    """
    strangeness: tuple[int, int]
    """Whether it names the model's architecture (0), none (1), or others (2); then how many dialects it reads."""


def _parsers(evidence: Evidence) -> Iterable[tuple[str, Any]]:
    """The parsers that declare a format, each once: under the shortest of its names, best its package's own."""
    tokens = {text: number for number, text in enumerate(sorted(evidence.tokens))}
    seen: list[Any] = []
    for known in sorted(plugins.installed(), key=_rank):
        try:
            plugin = load_parser(known.name, tokenizer=tokens or None).plugin
        except PluginError:
            continue  # it says so when it is asked for; it must not keep the others from being found
        form = getattr(plugin, "form", None)
        if isinstance(form, WireFormat) and form not in seen:
            seen.append(form)
            yield known.name, plugin


def _rank(known: plugins.Installed) -> tuple[bool, int, int, str]:
    return known.name not in known.distribution.replace("-", "_"), -known.name.count("_"), len(known.name), known.name


def _fit(name: str, plugin: Any, evidence: Evidence) -> _Fit | None:
    own = plugin.architectures
    architecture = next((one for one in evidence.architectures if one in own), None)
    strangeness = (0 if architecture else 2 if own else 1, len(plugin.form.calls))
    vocabulary = "\n".join(evidence.tokens)
    for grade, (where, seen) in enumerate((("chat template", evidence.template), ("vocabulary", vocabulary))):
        dialects = [_found(dialect, seen, f"{evidence.template}\n{vocabulary}") for dialect in plugin.form.calls]
        if any(dialects):
            found = Candidate(name, dialects[0] or max(dialects, key=len), architecture, where)
            return _Fit(found, 2 * grade + (not dialects[0]), strangeness)
    return None if architecture is None else _Fit(Candidate(name, (), architecture), 4, strangeness)


def _within(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether ``others`` say all that ``some`` say, and more."""

    def covered(these: Sequence[str], those: Sequence[str]) -> bool:
        return all(any(one in other for other in those) for one in these)

    return covered(some, others) and not covered(others, some)


def _found(dialect: Calls, seen: str, anywhere: str) -> tuple[str, ...]:
    """The markers of a dialect, if the opener is in ``seen`` and every one of them ``anywhere``."""
    frames = [frame for frame in (dialect.section, dialect.call) if frame]
    opener = next((frame.open[0] for frame in frames if distinct(frame.open[0])), None)
    if opener is None:
        return ()
    ends = [text for frame in frames for text in (frame.open[0], frame.close[0])]
    rest = [*ends, *dialect.body.exactly().markers]
    first, others = _literals([opener]), _literals(rest)
    fits = all(text in seen for text in first) and all(text in anywhere for text in others)
    return tuple(dict.fromkeys((*first, *others))) if fits else ()


def _literals(spellings: Iterable[str]) -> list[str]:
    pieces = [piece for spelling in spellings for piece in _SEAM.split(spelling)]
    return [piece for piece in pieces if len(piece) > 2 and not piece.isalnum()]
